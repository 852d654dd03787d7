import { button } from "../components/controls.js";
import { openDialog } from "../components/dialog.js";
import { element } from "../components/element.js";
import { t } from "../language/language.js";
import { shortcutKey } from "./keyPress.js";

/**
 * Shortcuts of single letters, the same as in the terminal's views, and the sheet that lists them.
 *
 * A view has its shortcuts in `shortcuts`: `keys`, as in `KeyboardEvent.key`; `words`, for the
 * sheet; `act`; `changes`, true if it changes something, which a device that may only read is not
 * offered; `repeats`, true if a key that is held acts again.
 */
export class Shortcuts {
  #shell;
  #choices;
  #sheet = null;

  /** @param {import("../deviceChoices.js").DeviceChoices} choices */
  constructor(shell, choices) {
    this.#shell = shell;
    this.#choices = choices;
    document.addEventListener("keydown", (event) => this.#handle(event));
  }

  #handle(event) {
    const key = this.#choices.get("letters") ? shortcutKey(event) : null;
    if (key === null || this.#shell.isEmpty || this.#shell.isWelcome) return;
    const isOpen = document.querySelector("dialog[open]") !== null;
    if (isOpen && !(key === "?" && this.#sheet)) return;
    const found = [...this.#own, ...this.#general].find(({ keys }) => keys.includes(key));
    if (!found) return;
    event.preventDefault();
    if (!event.repeat || found.repeats) found.act(key);
  }

  /** Shortcuts of the current view that are offered. */
  get #own() {
    const { shortcuts, isFixed } = this.#shell;
    return shortcuts.filter(({ changes }) => !changes || !isFixed);
  }

  get #general() {
    const names = this.#shell.shownNames;
    return [
      { keys: names.map((_, index) => String(index + 1)),
        words: t("Open a view, in the order of the bar"),
        act: (key) => { location.hash = names[Number(key) - 1]; } },
      { keys: ["?", "h"], words: t("This list"), act: () => this.toggleSheet() },
    ];
  }

  /** Opens the list of shortcuts, or closes it. */
  toggleSheet() {
    if (this.#sheet) {
      this.#sheet.close();
      return;
    }
    const letters = element("input", { type: "checkbox",
      on: { change: () => this.#choices.set("letters", letters.checked) } });
    letters.checked = this.#choices.get("letters");
    const own = this.#own;
    const sheet = openDialog(t("Keyboard shortcuts"), [
      own.length > 0 && element("h3", {}, this.#shell.title), own.length > 0 && list(own),
      element("h3", {}, t("In every view")), list(this.#general),
      element("label", { class: "check" }, letters, t("Single letters are shortcuts")),
      element("div", { class: "actions" },
        button(t("Done"), () => sheet.close(), { kind: "primary", autofocus: true })),
    ]);
    this.#sheet = sheet;
    sheet.classList.add("shortcuts");
    // The focus is on the button at the end.
    sheet.scrollTop = 0;
    sheet.addEventListener("close", () => {
      sheet.remove();
      this.#sheet = null;
    });
  }
}

function list(shortcuts) {
  return element("dl", { class: "shortcut-list" }, ...shortcuts.map(({ keys, words }) =>
    element("div", {}, element("dt", {}, ...keyCaps(keys)), element("dd", {}, words))));
}

/** Shows a row of digits by its ends. */
function keyCaps(keys) {
  const cap = (key) => element("kbd", {}, key === " " ? t("Space") : key);
  return keys.length > 2 ? [cap(keys[0]), t(" to "), cap(keys.at(-1))] : keys.map(cap);
}
