import { t } from "../language/language.js";
import { button } from "./controls.js";
import { openDialog } from "./dialog.js";
import { element } from "./element.js";

/** Returns a list of check words. @param {string} words separated by spaces */
export const checkWordList = (words) => element("ol", { class: "check-words" },
  words.split(" ").map((word) => element("li", {}, word)));

/** Asks a person who has joined an account to compare its check words. */
export function askToCompare(words) {
  const dialog = openDialog(t("Compare six words"), [
    element("p", {}, t("The other device shows the same words: a browser under Devices, a "
      + "terminal with lockstep agent key words.")),
    checkWordList(words),
    element("p", { class: "muted small" }, t("They are the same if both have the account's keys. "
      + "If they differ, sign out of this browser, and do not use the code again.")),
    element("div", { class: "actions" },
      button(t("Done"), () => dialog.close(), { kind: "primary", autofocus: true })),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
}
