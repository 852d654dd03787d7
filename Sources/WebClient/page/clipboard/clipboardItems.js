import { clipboardApp, newItemName } from "../../apps/clipboard/clipboardApp.js";
import { clipboardContents, thumbnailOf } from "../../apps/clipboard/clipboardContents.js";
import { download } from "../components/download.js";
import { copyText } from "../components/copyText.js";
import { t, tCount } from "../language/language.js";
import { limits } from "../limits.js";
import { errorText } from "../text/errorText.js";
import { pngOf, preparedImage } from "./clipboardImage.js";
import { imageFileName } from "./clipboardModel.js";
import { ImageFault } from "./imageOutbox.js";
import { problemText } from "./sharedItems.js";

/** A person's actions on the clipboard: each says what it did, and offers to undo it. */
export class ClipboardItems {
  #controller;
  #notify;
  #outbox;
  /** Contents of images by the name of their item, the last used last. */
  #blobs = new Map();
  #isTaking = false;

  /** @param {import("./imageOutbox.js").ImageOutbox} outbox */
  constructor(controller, notify, outbox) {
    this.#controller = controller;
    this.#notify = notify;
    this.#outbox = outbox;
  }

  /** Images that wait in this browser to be sent, without one that has just become an item. */
  get waiting() {
    return this.#outbox.images.filter(({ id }) =>
      !this.#controller.lockstep.record(clipboardApp.zone, id));
  }

  /** Returns the small picture of an item as a `data:` URL; null if it has none. */
  thumbnail(name) { return thumbnailOf(this.#fields(name)); }

  /** Adds what was typed. Resolves with true if it is an item now. */
  async addTyped(content) { return await this.#act({ do: "add", content }) !== null; }

  /** Adds a paste: a text, or images. Resolves with true if there is a new item. */
  async addPasted({ text, images }) {
    if (images.length === 0) return this.#addText(text, t("Added to the clipboard."));
    return this.#addImages(images.map((image) => ({ image, content: image.name ?? "" })));
  }

  /** Adds images that a person has chosen. */
  async addFiles(files) {
    return this.#addImages(files.map((file) => ({ image: file, content: file.name })));
  }

  /** True if there is an account that takes what other apps share. A tab that has just been opened
   * may not know its account for a moment. */
  get takesShares() {
    const { state, scope, accountID } = this.#controller.status;
    return accountID !== null && state !== "needsPairing" && scope?.access !== "read";
  }

  /** Adds what other apps have shared with the page. */
  async addShared() {
    const { shared } = this.#controller.browser;
    if (this.#isTaking) return;
    this.#isTaking = true;
    try {
      for (const item of await shared.all()) {
        await this.#addSharedItem(item);
        await shared.remove(item.id);
      }
    } catch (error) {
      this.#notify(errorText(error));
    } finally {
      this.#isTaking = false;
    }
  }

  async #addSharedItem({ id, text, image, content, problem }) {
    if (problem !== undefined) this.#notify(problemText(problem));
    else if (image) await this.#addImages([{ image, content, id }]);
    else await this.#addText(text, t("Added what was shared."), id);
  }

  async #addText(content, words, name) {
    const added = await this.#act(
      name === undefined ? { do: "add", content } : { do: "add", content, name });
    if (added === null) return false;
    this.#notify(words, added.length > 0
      ? { words: t("Undo"), act: () => this.#act({ do: "remove", item: added[0].name }) } : null);
    return true;
  }

  async #addImages(images) {
    const added = [];
    for (const { image, content, id = newItemName(this.#controller.browser.random) } of images) {
      try {
        const { blob, imageType, thumbnail } = await preparedImage(image);
        const bytes = await blob.arrayBuffer();
        await this.#outbox.add({ id, content, imageType, thumbnail, bytes });
        added.push(id);
      } catch (error) {
        this.#notify(error instanceof ImageFault ? error.message : errorText(error));
        return false;
      }
    }
    this.#notify(tCount(added.length, "Added the image.", "Added {count} images."),
      { words: t("Undo"), act: () => this.#discard(added) });
    return true;
  }

  /** Takes back images, whether they have been sent by now or not. */
  async #discard(ids) {
    for (const id of ids) {
      await this.#outbox.remove(id);
      if (this.#item(id)) await this.#act({ do: "remove", item: id });
    }
  }

  async copy(name) {
    const item = this.#item(name);
    if (item?.image) return this.#copyImage(name);
    const isCopied = await copyText(item?.content ?? "");
    this.#notify(isCopied ? t("Copied.")
      : t("This browser does not let the page copy. Select the text."));
    return isCopied;
  }

  async #copyImage(name) {
    let fault = null;
    const png = this.#blob(name).then(pngOf).catch((error) => {
      fault = error;
      throw error;
    });
    // The browser may refuse before it asks for the content.
    png.catch(() => {});
    try {
      await this.#controller.browser.clipboard.writeImage(png);
      this.#notify(t("Copied the image."));
      return true;
    } catch {
      this.#notify(fault ? errorText(fault)
        : t("This browser does not let the page copy images. Download it instead."));
      return false;
    }
  }

  async download(name) {
    try {
      const { content, image } = this.#item(name);
      const blob = await this.#blob(name);
      const file = imageFileName(content, image.type);
      download(this.#controller.browser, file, blob.type, blob);
    } catch (error) {
      this.#notify(errorText(error));
    }
  }

  async #blob(name) {
    const { file, type } = this.#item(name)?.image ?? {};
    const known = this.#blobs.get(name);
    const blob = known?.file.chunks.join() === file?.chunks.join() ? known?.blob : undefined;
    this.#blobs.delete(name);
    const content = blob ?? await this.#controller.lockstep.files.download(
      clipboardApp.zone, file, { type: type || "application/octet-stream" });
    this.#blobs.set(name, { file, blob: content });
    for (const oldest of [...this.#blobs.keys()].slice(0, -limits.keptImages)) {
      this.#blobs.delete(oldest);
    }
    return content;
  }

  async setPin(name, isPinned) {
    const [act, back] = isPinned ? ["pin", "unpin"] : ["unpin", "pin"];
    if (await this.#act({ do: act, item: name }) === null) return;
    this.#notify(isPinned ? t("Pinned.") : t("No longer pinned."),
      { words: t("Undo"), act: () => this.#act({ do: back, item: name }) });
  }

  async remove(name) {
    const items = this.#records([name]);
    if (await this.#act({ do: "remove", item: name }) === null) return;
    this.#notify(t("Deleted."), this.#undo(items, []));
  }

  async removeWaiting(id) {
    const image = this.#outbox.image(id);
    await this.#outbox.remove(id);
    this.#notify(t("Deleted."), this.#undo([], image ? [image] : []));
  }

  /** Deletes all items, or all that are not pinned, and the images that wait. */
  async clear(includesPinned) {
    const names = clipboardContents(this.#state)
      .filter(({ isPinned }) => includesPinned || !isPinned).map((item) => item.name);
    const [items, images] = [this.#records(names), [...this.#outbox.images]];
    if (await this.#act({ do: "clear", pinned: includesPinned }) === null) return;
    for (const { id } of images) await this.#outbox.remove(id);
    const count = items.length + images.length;
    this.#notify(tCount(count, "Deleted {count} item.", "Deleted {count} items."),
      this.#undo(items, images));
  }

  #undo(items, images) {
    return { words: t("Undo"), act: async () => {
      if (items.length > 0) await this.#act({ do: "restore", items });
      try {
        for (const image of images) await this.#outbox.add(image);
      } catch (error) {
        this.#notify(errorText(error));
      }
    } };
  }

  /** Returns items as they are now, so that they can be restored. */
  #records(names) {
    return names.map((name) => this.#controller.lockstep.record(clipboardApp.zone, name))
      .filter((record) => record)
      .map(({ name, fields, modifiedAt }) => ({ name, fields, modifiedAt }));
  }

  get #state() { return this.#controller.state(clipboardApp); }

  #item(name) { return clipboardContents(this.#state).find((item) => item.name === name); }

  #fields(name) { return this.#controller.lockstep.record(clipboardApp.zone, name)?.fields ?? {}; }

  /** Resolves with the changed records; null if the action was refused. */
  async #act(action) {
    try {
      return await this.#controller.act(clipboardApp, action);
    } catch (error) {
      this.#notify(errorText(error));
      return null;
    }
  }
}
