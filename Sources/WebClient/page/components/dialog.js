import { t } from "../language/language.js";
import { button, newID } from "./controls.js";
import { element } from "./element.js";

/**
 * Asks a person before an action that cannot be undone. Resolves with true if the person confirms
 * it; Escape means no.
 *
 * @param {{title: string, words: string, yes: string, isDanger?: boolean}} question
 */
export function confirmAction({ title, words, yes, isDanger = true }) {
  return new Promise((resolve) => {
    const end = (answer) => () => {
      dialog.returnValue = answer;
      dialog.close();
    };
    const dialog = openDialog(title, [
      element("p", {}, words),
      element("div", { class: "actions" },
        button(t("Cancel"), end(""), { autofocus: true }),
        button(yes, end("yes"), { kind: isDanger ? "danger" : "primary" })),
    ]);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** Returns an open dialog with the given content. */
export function openDialog(title, content) {
  const id = newID("dialog");
  const dialog = element("dialog", { class: "dialog", "aria-labelledby": id },
    element("h2", { id }, title), ...content);
  document.body.append(dialog);
  dialog.showModal();
  // A long dialog is read from its beginning; the button that has the focus is at its end.
  dialog.scrollTop = 0;
  return dialog;
}
