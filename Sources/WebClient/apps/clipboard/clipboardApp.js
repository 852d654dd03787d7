import { member } from "../../changes/json.js";
import { limits } from "../../changes/limits.js";
import { uuid } from "../../changes/uuid.js";
import { word } from "../actionWords.js";
import { chosen } from "../edit.js";
import { EditRefusal } from "../editRefusal.js";
import { clipboardHistory } from "./clipboardHistory.js";
import { clipboardItemResolver } from "./clipboardItemResolver.js";

const zone = "Clipboard";
const itemType = "ClipboardItem";

/**
 * What was copied, on whichever device: zone `Clipboard`, a record an item. What a person does:
 *
 *     {do: "add", content} · {do: "remove", item} · {do: "clear"}
 */
export const clipboardApp = Object.freeze({
  name: "clipboard",
  zone,
  types: Object.freeze([itemType]),
  /** The types of which only so many records stand. */
  boundedTypes: Object.freeze([itemType]),

  resolvers: Object.freeze({ [itemType]: clipboardItemResolver }),

  /**
   * Of a bounded type, the names of the records that the app lets go of. To be asked on a device
   * that is caught up with the relay, and only there: a stale one would remove what others still
   * want.
   */
  surplus(type, records) {
    if (type !== itemType) return [];
    return clipboardHistory({ records }).slice(limits.clipboardItems).map((item) => item.name);
  },

  outcome(state, action, random) {
    switch (member(action, "do")) {
      case "add": {
        const content = word(action, "content");
        if (content === "") throw new EditRefusal("there is nothing to add");
        return { edits: [edit(uuid(random), { content })] };
      }
      case "remove": {
        const item = chosen(clipboardHistory(state), word(action, "item"), "item");
        return { edits: [edit(item.name, null)] };
      }
      case "clear":
        return { edits: clipboardHistory(state).map((item) => edit(item.name, null)) };
      default:
        throw new EditRefusal("the clipboard does not know that order");
    }
  },
});

const edit = (name, fields) => ({ zone, name, type: itemType, make: () => fields });
