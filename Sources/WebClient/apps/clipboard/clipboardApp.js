import { member } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { MergeRules } from "../../model/mergeRules.js";
import { uuid } from "../../model/name.js";
import { EditRefusal, findEntry, textMember } from "../edit.js";
import { clipboardContents } from "./clipboardContents.js";

const zone = "Clipboard";
const itemType = "ClipboardItem";

/**
 * Clipboard history of all devices: zone `Clipboard`, one record per item. Actions:
 *
 *     {do: "add", content} · {do: "remove", item} · {do: "clear"}
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
      case "add": {
        const content = textMember(action, "content");
        if (content === "") throw new EditRefusal("there is nothing to add");
        return { edits: [edit(uuid(random), { content })] };
      }
      case "remove": {
        const item = findEntry(clipboardContents(state), textMember(action, "item"), "item");
        return { edits: [edit(item.name, null)] };
      }
      case "clear":
        return { edits: clipboardContents(state).map((item) => edit(item.name, null)) };
      default:
        throw new EditRefusal("the clipboard does not know that order");
    }
  },
});

const edit = (name, fields) => ({ zone, name, type: itemType, make: () => fields });
