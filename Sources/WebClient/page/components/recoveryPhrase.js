import { t } from "../language/language.js";
import { checkWordList } from "./checkWords.js";
import { button } from "./controls.js";
import { openDialog } from "./dialog.js";
import { element } from "./element.js";

/** Shows the words with which a person opens the account after the loss of all devices. */
export function showPhrase(phrase) {
  const dialog = openDialog(t("The recovery phrase"), [
    element("p", {}, t("The relay cannot read this account, so nobody can open it for you. If all "
      + "of its devices are lost, these words do. Write them down, and show them to nobody:")),
    checkWordList(phrase),
    element("p", { class: "muted small" },
      t("Devices shows them again. After a device was removed, they are others. To use them: pair "
        + "a browser with a code of the relay's owner, which then asks for them; in a terminal, "
        + "lockstep agent key restore.")),
    element("div", { class: "actions" },
      button(t("Done"), () => dialog.close(), { kind: "primary", autofocus: true })),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
}
