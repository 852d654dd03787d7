"""Converts a screenshot with few colours to a PNG with a palette: a fifth of the browser's size."""

import base64
import struct
import zlib

# Keeps the most frequent colours, one for each group of similar shades; any other colour is mapped
# to the nearest of them.
REDUCE = """async (source) => {
  const bitmap = await createImageBitmap(await (await fetch(source)).blob());
  const { width, height } = bitmap;
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext("2d");
  context.drawImage(bitmap, 0, 0);
  const pixels = context.getImageData(0, 0, width, height).data;
  const colourAt = (at) => (pixels[at] << 16) | (pixels[at + 1] << 8) | pixels[at + 2];
  const counts = new Map();
  for (let at = 0; at < pixels.length; at += 4) {
    const colour = colourAt(at);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const distance = (one, other) => [16, 8, 0].reduce((sum, shift) =>
    sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0);
  const ranked = [...counts].sort(([, one], [, other]) => other - one).map(([colour]) => colour);
  let palette = [];
  // As fine as 256 colours allow.
  for (let apart = 0; ; apart = apart * 1.5 + 1) {
    palette = [];
    for (const colour of ranked) {
      if (palette.every((it) => distance(it, colour) > apart)) palette.push(colour);
      if (palette.length > 256) break;
    }
    if (palette.length <= 256) break;
  }
  const nearest = new Map(ranked.map((colour) => [colour, palette.reduce((best, it, index) =>
    (distance(it, colour) < distance(palette[best], colour) ? index : best), 0)]));
  let indices = "";
  for (let at = 0; at < pixels.length; at += 4) {
    indices += String.fromCharCode(nearest.get(colourAt(at)));
  }
  return { width, height, palette, indices: btoa(indices) };
}"""


def shrink(page, path):
    """Replaces the file by a smaller one. `page`: any page at about:blank."""
    source = "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
    found = page.evaluate(REDUCE, source)
    width, height = found["width"], found["height"]
    indices = base64.b64decode(found["indices"])
    rows = b"".join(b"\0" + indices[at:at + width] for at in range(0, len(indices), width))
    palette = b"".join(struct.pack(">I", colour)[1:] for colour in found["palette"])
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", zlib.compress(rows, 9)),
              (b"IEND", b"")]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks))
