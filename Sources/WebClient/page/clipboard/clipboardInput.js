/**
 * Content of a paste: `{text, images}`. A text is preferred to a picture of it, which some programs
 * copy as well.
 *
 * @param {DataTransfer | null} data
 */
export function pastedContent(data) {
  const text = data?.getData("text/plain") ?? "";
  const images = [...data?.files ?? []].filter(({ type }) => type.startsWith("image/"));
  return text.trim() === "" && images.length > 0 ? { text: "", images } : { text, images: [] };
}

/** The clipboard of the system, as far as the browser lets a page use it. */
export class SystemClipboard {
  /** @param {Clipboard | undefined} clipboard missing over plain http */
  constructor(clipboard) { this.clipboard = clipboard; }

  /** Reads it, after the browser has asked the person. Rejects if it may not be read. */
  async read() {
    const items = await this.clipboard.read();
    const texts = [];
    const images = [];
    for (const item of items) {
      const image = item.types.find((type) => type.startsWith("image/"));
      const isText = item.types.includes("text/plain");
      const text = isText ? await (await item.getType("text/plain")).text() : "";
      if (text.trim() !== "" || !image) texts.push(text);
      else images.push(await item.getType(image));
    }
    return { text: texts.join("\n"), images };
  }

  /** Copies an image. @param {Promise<Blob>} png not awaited first: some browsers allow a copy only
   *   within the press of a button */
  async writeImage(png) {
    await this.clipboard.write([new ClipboardItem({ "image/png": png })]);
  }
}
