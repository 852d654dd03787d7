import { text } from "../../changes/json.js";
import { limits } from "../../changes/limits.js";
import { compareText, prefix } from "../../changes/utf8.js";
import { deviceName, recordsOf } from "../edit.js";

/** Unicode scalars of an item that a list shows: all of a hundred long ones could be large. */
const shownScalars = 1_000;

/**
 * What was copied, newest first. An item whose content this version cannot read is shown empty: it
 * may be removed.
 */
export function clipboardHistory(state) {
  return recordsOf(state, "ClipboardItem").sort(newestFirst).map((record) => ({
    name: record.name, content: text(record.fields, "content") ?? "",
    modifiedAt: record.modifiedAt, device: record.device,
  }));
}

/** By modifiedAt, then device, then name: the same order on every device. */
function newestFirst(one, other) {
  return (
    other.modifiedAt - one.modifiedAt || compareText(other.device, one.device) ||
    compareText(other.name, one.name)
  );
}

/** The items as a screen lists them: at most a hundred, with `beginning` for the row. */
export function clipboardList(state) {
  return clipboardHistory(state).slice(0, limits.clipboardItems).map((item) => ({
    ...item,
    beginning: prefix(item.content, shownScalars),
    deviceName: deviceName(state, item.device),
  }));
}
