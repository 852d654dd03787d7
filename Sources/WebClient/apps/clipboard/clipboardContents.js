import { text } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { compareText, prefix } from "../../json/utf8.js";
import { deviceName, recordsOf } from "../edit.js";

/** Maximum number of Unicode scalars per item in a list: a hundred full items could be large. */
const shownScalars = 1_000;

/**
 * Returns the items, newest first. If this version cannot read an item's content, the item is shown
 * empty, so that a person can remove it.
 */
export function clipboardContents(state) {
  return recordsOf(state, "ClipboardItem").sort(newestFirst).map((record) => ({
    name: record.name, content: text(record.fields, "content") ?? "",
    modifiedAt: record.modifiedAt, device: record.device,
  }));
}

/** Orders by modifiedAt, then device, then name: the same order on every device. */
function newestFirst(one, other) {
  return (
    other.modifiedAt - one.modifiedAt || compareText(other.device, one.device) ||
    compareText(other.name, one.name)
  );
}

/** Returns at most a hundred items for a list, with `beginning` for the row. */
export function clipboardList(state) {
  return clipboardContents(state).slice(0, limits.clipboardItems).map((item) => ({
    ...item,
    beginning: prefix(item.content, shownScalars),
    deviceName: deviceName(state, item.device),
  }));
}
