import { isObject, member, setting } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { MergeRules } from "../../model/mergeRules.js";
import { isReference } from "../../model/fileReference.js";
import { isName, uuid } from "../../model/name.js";
import { EditRefusal, findEntry, isBlank, textMember } from "../edit.js";
import { clipboardContents, copiedAt, imageTypes, isThumbnail } from "./clipboardContents.js";

const zone = "Clipboard";
const itemType = "ClipboardItem";

/**
 * Clipboard history of all devices: zone `Clipboard`, one record per item. Actions:
 *
 *     {do: "add", content, name?} · {do: "remove", item} · {do: "clear", pinned?}
 *     {do: "pin", item} · {do: "unpin", item}
 *     {do: "restore", items: [{name, fields, modifiedAt}]}
 *     {do: "addImage", content, image, imageType, thumbnail?, name?}
 *
 * `add` and `addImage` with the name of an item that is there change nothing: they were done
 * before. `clear` keeps pinned items, unless `pinned` is true. `restore` brings back items that
 * were removed, each to its place. `image` is the reference of an uploaded file, `content` its
 * name.
 */
export const clipboardApp = Object.freeze({
  name: "clipboard",
  zone,
  isOwn: true,
  types: Object.freeze([itemType]),
  /** Types with a maximum number of records. */
  boundedTypes: Object.freeze([itemType]),

  /** The newer version of an item remains. At one instant a delete wins: the removed text may be a
   * password. */
  rules: Object.freeze({ [itemType]: MergeRules.of({ delete: "newest" }) }),

  /**
   * Returns the names of a bounded type's surplus records. Call it only on a device that is caught
   * up with the relay: with stale records it would remove items that other devices still need.
   */
  surplus(type, records) {
    if (type !== itemType) return [];
    return clipboardContents({ records }).slice(limits.clipboardItems).map((item) => item.name);
  },

  outcome(state, action, random) {
    switch (member(action, "do")) {
      case "add":
        return { edits: added(state, action, { content: filledText(action) }, random) };
      case "addImage":
        return { edits: added(state, action, imageFields(action), random) };
      case "remove": {
        const item = findEntry(clipboardContents(state), textMember(action, "item"), "item");
        return { edits: [edit(item.name, () => null)] };
      }
      case "pin":
        return { edits: pinned(clipboardContents(state), action, true) };
      case "unpin":
        return { edits: pinned(clipboardContents(state), action, false) };
      case "clear": {
        const includesPinned = member(action, "pinned") === true;
        const removed = clipboardContents(state).filter(({ isPinned }) =>
          includesPinned || !isPinned);
        return { edits: removed.map((item) => edit(item.name, () => null)) };
      }
      case "restore":
        return { edits: restored(state, action) };
      default:
        throw new EditRefusal("the clipboard does not know that order");
    }
  },
});

const edit = (name, make) => ({ zone, name, type: itemType, make });

function filledText(action) {
  const content = textMember(action, "content");
  if (isBlank(content)) throw new EditRefusal("there is nothing to add: the text is blank");
  return content;
}

function imageFields(action) {
  const [image, thumbnail] = [member(action, "image"), member(action, "thumbnail")];
  const imageType = textMember(action, "imageType");
  if (!isReference(image) || image.bytes === 0) {
    throw new EditRefusal("there is nothing to add: the image is empty");
  }
  if (!Object.hasOwn(imageTypes, imageType)) {
    throw new EditRefusal("images can be PNG, JPEG, GIF or WebP");
  }
  const fields = { content: textMember(action, "content"), image, imageType };
  return isThumbnail(thumbnail) ? { ...fields, thumbnail } : fields;
}

function added(state, action, fields, random) {
  const name = member(action, "name") ?? uuid(random);
  if (!isName(name)) throw new EditRefusal("that is no name for a record");
  return isThere(state, name) ? [] : [edit(name, () => fields)];
}

const isThere = (state, name) => clipboardContents(state).some((item) => item.name === name);

function pinned(items, action, isPinned) {
  const item = findEntry(items, textMember(action, "item"), "item");
  if (item.isPinned === isPinned) return [];
  const count = items.filter((it) => it.isPinned).length;
  if (isPinned && count >= limits.clipboardPins) {
    throw new EditRefusal(
      `${limits.clipboardPins} items are pinned, the most there can be; unpin one`);
  }
  return [edit(item.name, ({ current }) => {
    if (!current) throw new EditRefusal("this item is not there any more");
    // A pin is no copy: the item keeps its time, and its place among the others.
    return setting(current.fields,
      { pinned: isPinned ? true : undefined, copiedAt: copiedAt(current) });
  })];
}

function restored(state, action) {
  const items = member(action, "items");
  const isList = Array.isArray(items) && items.every((item) => isName(member(item, "name"))
    && isObject(member(item, "fields")) && Number.isSafeInteger(member(item, "modifiedAt")));
  if (!isList) throw new EditRefusal("these are no items");
  return items.filter(({ name }) => !isThere(state, name)).map((item) =>
    edit(item.name, () => setting(item.fields, { copiedAt: copiedAt(item) })));
}

/** Name of an item that is not stored yet. @param {(count: number) => Uint8Array} random */
export const newItemName = (random) => uuid(random);
