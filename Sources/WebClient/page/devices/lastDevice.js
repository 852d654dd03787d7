import { serialize } from "../../lockstep.js";
import { button } from "../components/controls.js";
import { openDialog } from "../components/dialog.js";
import { download } from "../components/download.js";
import { element } from "../components/element.js";
import { showPhrase } from "../components/recoveryPhrase.js";
import { t } from "../language/language.js";
import { lastDeviceWords } from "./devicesModel.js";

/** Returns the content of a file with all records that this browser shows, without the account's
 * keys. */
export function copyOfRecords(records) {
  const kept = records.filter(({ zone }) => zone !== "Keys")
    .map(({ zone, name, type, fields }) => ({ zone, name, type, fields }));
  return `${serialize({ records: kept })}\n`;
}

/**
 * Asks before the account's only device is signed out, and offers what a person needs to come back.
 * Resolves with true if the person signs out.
 */
export function confirmLastSignOut(controller, unsent) {
  const { lockstep, browser, checkWords, status } = controller;
  const state = { unsent, isOffline: status.state === "offline" };
  return new Promise((resolve) => {
    let isConfirmed = false;
    const end = (answer) => () => {
      isConfirmed = answer;
      dialog.close();
    };
    const save = () => download(browser, "lockstep-records.json", "application/json",
      copyOfRecords(lockstep.records()));
    const dialog = openDialog(t("Sign out of the account's only device?"), [
      ...lastDeviceWords(checkWords !== null, state).map((words) => element("p", {}, words)),
      element("div", { class: "actions start" },
        checkWords !== null && button(t("Show the recovery phrase"),
          async () => showPhrase(await lockstep.recoveryPhrase())),
        button(t("Save a copy of everything"), save)),
      element("div", { class: "actions" },
        button(t("Cancel"), end(false), { autofocus: true }),
        button(unsent > 0 ? t("Sign out and lose them") : t("Sign out"), end(true),
          { kind: "danger" })),
    ]);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(isConfirmed);
    });
  });
}
