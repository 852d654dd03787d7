import { clipboardList } from "../../apps/clipboard/clipboardContents.js";
import { ago } from "../text/time.js";
import { deviceLabel } from "../text/deviceText.js";

/** Returns the items that contain the words, newest first, as rows. */
export function clipboardRows(state, words, now, minutesAhead) {
  const wanted = words.trim().toLowerCase();
  return clipboardList(state)
    .filter(({ content }) => content.toLowerCase().includes(wanted))
    .map((item) => ({
      key: item.name, text: item.beginning, isCut: item.beginning !== item.content,
      from: [
        deviceLabel(item.device, item.deviceName), ago(item.modifiedAt, now, minutesAhead),
      ].join(", "),
    }));
}
