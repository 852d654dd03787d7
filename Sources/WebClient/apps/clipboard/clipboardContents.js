import { int64, member, text } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { compareText, prefix } from "../../json/utf8.js";
import { isReference } from "../../model/fileReference.js";
import { deviceName, recordsOf } from "../edit.js";

/** Maximum number of Unicode scalars per item in a list: a hundred full items could be large. */
const shownScalars = 1_000;

/** Media types of images that pages write, with their short names. */
export const imageTypes = Object.freeze({
  "image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP",
});

const thumbnailForm = /^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;

/**
 * Returns the items: the pinned ones first, then the newest. If this version cannot read an item's
 * content, the item is shown empty, so that a person can remove it.
 *
 * `content` of an image is the name of its file. `image` is null, or `{file, type}`: the reference
 * of the file, and its media type ("" if it is none that pages write).
 */
export function clipboardContents(state) {
  return recordsOf(state, "ClipboardItem").map((record) => ({
    name: record.name, content: text(record.fields, "content") ?? "",
    isPinned: member(record.fields, "pinned") === true, image: imageOf(record.fields),
    copiedAt: copiedAt(record), modifiedAt: record.modifiedAt, device: record.device,
  })).sort(inOrder);
}

/** Returns the time at which an item was copied. Never later than that of its record, so that no
 * item can stay the newest. */
export function copiedAt({ fields, modifiedAt }) {
  const time = int64(member(fields, "copiedAt"));
  return time === undefined || time > BigInt(modifiedAt) ? modifiedAt : Number(time);
}

/** The same order on every device: pinned before others, then by time, device and name. */
function inOrder(one, other) {
  return (
    Number(other.isPinned) - Number(one.isPinned) || other.copiedAt - one.copiedAt ||
    compareText(other.device, one.device) || compareText(other.name, one.name)
  );
}

function imageOf(fields) {
  const file = member(fields, "image");
  if (!isReference(file)) return null;
  const type = text(fields, "imageType") ?? "";
  return { file, type: Object.hasOwn(imageTypes, type) ? type : "" };
}

/** Returns the small picture of an item, as a `data:` URL; null if it has none. */
export function thumbnailOf(fields) {
  const thumbnail = text(fields, "thumbnail");
  return isThumbnail(thumbnail) ? thumbnail : null;
}

/** True for a picture that an item may carry, as a `data:` URL. */
export const isThumbnail = (value) => typeof value === "string"
  && value.length <= limits.thumbnailLength && thumbnailForm.test(value);

/** Returns at most a hundred items for a list, with `beginning` for the row. */
export function clipboardList(state) {
  return clipboardContents(state).slice(0, limits.clipboardItems).map((item) => ({
    ...item,
    beginning: prefix(item.content, shownScalars),
    deviceName: deviceName(state, item.device),
  }));
}
