import { button, newID } from "./controls.js";
import { element } from "./element.js";

/**
 * Asks a person before something is done that cannot be taken back. Resolves with whether the
 * person wants it; Escape is no.
 *
 * @param {{title: string, words: string, yes: string, isDanger?: boolean}} question
 */
export function confirmed({ title, words, yes, isDanger = true }) {
  return new Promise((resolve) => {
    const end = (answer) => () => {
      dialog.returnValue = answer;
      dialog.close();
    };
    const dialog = opened(title, [
      element("p", {}, words),
      element("div", { class: "actions" },
        button("Cancel", end(""), { autofocus: true }),
        button(yes, end("yes"), { kind: isDanger ? "danger" : "primary" })),
    ]);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
  });
}

/** A dialog with the content that is given, open. */
export function opened(title, content) {
  const id = newID("dialog");
  const dialog = element("dialog", { class: "dialog", "aria-labelledby": id },
    element("h2", { id }, title), ...content);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
