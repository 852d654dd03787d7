import { clipboardList, imageTypes } from "../../apps/clipboard/clipboardContents.js";
import { t, tCount } from "../language/language.js";
import { ago } from "../text/time.js";
import { deviceLabel } from "../text/deviceText.js";

/**
 * Returns the items that contain the words, in their order, as rows. A row is JSON: `text` is what
 * is shown, `about` describes an image ("" for a text), `picture` changes with its small picture.
 */
export function clipboardRows(state, words, now, minutesAhead) {
  const wanted = words.trim().toLowerCase();
  return clipboardList(state)
    .map((item) => ({ item, about: item.image === null ? "" : imageText(item.image) }))
    .filter(({ item, about }) =>
      `${item.content}\n${about}`.toLowerCase().includes(wanted))
    .map(({ item, about }) => ({
      key: item.name, text: item.beginning, isCut: item.beginning !== item.content,
      isPinned: item.isPinned, isImage: item.image !== null, about,
      picture: item.image === null ? 0 : item.modifiedAt,
      from: t("{device}, {when}", { device: deviceLabel(item.device, item.deviceName),
        when: ago(item.copiedAt, now, minutesAhead) }),
    }));
}

/** Returns the rows of images that wait in this browser to be sent, the newest first. */
export function waitingRows(waiting, words) {
  const wanted = words.trim().toLowerCase();
  return waiting.map((image) => ({
    key: `waiting ${image.id}`, id: image.id, text: image.content, isWaiting: true,
    about: imageText({ type: image.imageType, file: { bytes: image.bytes.byteLength } }),
    problem: image.problem ?? "",
  })).filter(({ text, about }) => `${text}\n${about}`.toLowerCase().includes(wanted));
}

/** Returns the kind and size of an image, such as "PNG image, 240 KB". */
function imageText({ type, file }) {
  const size = sizeText(file.bytes);
  if (!Object.hasOwn(imageTypes, type)) return t("Image, {size}", { size });
  return t("{format} image, {size}", { format: imageTypes[type], size });
}

/** Extensions of the files of images, the usual one first. */
const extensions = {
  "image/png": ["png"], "image/jpeg": ["jpg", "jpeg"], "image/gif": ["gif"],
  "image/webp": ["webp"],
};

/** Returns the name for the file of an image: always one of an image, whatever the record says. */
export function imageFileName(content, type) {
  const known = Object.hasOwn(extensions, type) ? extensions[type] : ["bin"];
  const name = content.trim() || "image";
  const isFit = known.some((it) => name.toLowerCase().endsWith(`.${it}`));
  return isFit ? name : `${name}.${known[0]}`;
}

/** Returns a size for a person, in units of 1,000. */
export function sizeText(bytes) {
  if (bytes < 1_000) return tCount(bytes, "{count} byte", "{count} bytes");
  if (bytes < 999_500) return `${Math.round(bytes / 1_000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1).replace(/\.0$/, "")} MB`;
}
