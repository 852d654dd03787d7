import { imageTypes, isThumbnail } from "../../apps/clipboard/clipboardContents.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { sizeText } from "./clipboardModel.js";
import { ImageFault } from "./imageOutbox.js";

/**
 * Checks an image that a person has pasted, chosen or shared, and makes its small picture. An image
 * of a type that other devices may not read becomes a PNG.
 *
 * @param {Blob} blob
 * @returns {Promise<{blob: Blob, imageType: string, thumbnail: string | null}>}
 * @throws {ImageFault}
 */
export async function preparedImage(blob) {
  checkSize(blob);
  const bitmap = await decoded(blob);
  try {
    const isKnown = Object.hasOwn(imageTypes, blob.type);
    const image = isKnown ? blob : await encoded(bitmap, bitmap, "image/png");
    checkSize(image);
    return { blob: image, imageType: image.type, thumbnail: await thumbnail(bitmap) };
  } finally {
    bitmap.close();
  }
}

/** Returns an image as a PNG, the only type that all browsers can copy. @param {Blob} blob */
export async function pngOf(blob) {
  if (blob.type === "image/png") return blob;
  const bitmap = await decoded(blob);
  try {
    return await encoded(bitmap, bitmap, "image/png");
  } finally {
    bitmap.close();
  }
}

function checkSize({ size }) {
  if (size === 0) throw new ImageFault(t("This image is empty, so there is nothing to add."));
  if (size <= limits.imageBytes) return;
  throw new ImageFault(t("This image has {size}, and an item has room for {room}. Make it smaller "
    + "first.", { size: sizeText(size), room: sizeText(limits.imageBytes) }));
}

async function decoded(blob) {
  try {
    return await createImageBitmap(blob);
  } catch {
    throw new ImageFault(
      t("This browser cannot read that image. Add it as PNG, JPEG, GIF or WebP."));
  }
}

/** Returns a small picture as a `data:` URL; null if none is small enough. */
async function thumbnail(bitmap) {
  const longer = Math.max(bitmap.width, bitmap.height);
  for (const [pixels, type] of [[limits.thumbnailPixels, "image/webp"],
    [limits.thumbnailPixels / 2, "image/png"]]) {
    const scale = Math.min(1, pixels / longer);
    const size = { width: Math.max(1, Math.round(bitmap.width * scale)),
      height: Math.max(1, Math.round(bitmap.height * scale)) };
    const url = await dataURL(await encoded(bitmap, size, type));
    if (isThumbnail(url)) return url;
  }
  return null;
}

async function encoded(bitmap, { width, height }, type) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width, height });
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, width, height);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, type, 0.7));
  if (!blob) {
    throw new ImageFault(t("This image is too large for the browser. Make it smaller first."));
  }
  return blob;
}

function dataURL(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
