import { button } from "../components/controls.js";
import { openDialog } from "../components/dialog.js";
import { element, setAttribute, show } from "../components/element.js";
import { t } from "../language/language.js";
import { joinSentences } from "../text/sentences.js";
import { comparedTexts } from "./comparedTexts.js";
import { titleText } from "./memoSearch.js";

/**
 * Shows two versions of a memo, and asks which one stays. Resolves with "this", "other" or "both";
 * null if the person decides nothing. `isFixed`: this device may not change them.
 *
 * @param {{memo: {text: string, about: string}, copy: {text: string, about: string},
 *   isFixed: boolean}} versions
 */
export function askToKeep({ memo, copy, isFixed }) {
  return new Promise((resolve) => {
    const end = (answer) => () => {
      dialog.returnValue = answer;
      dialog.close();
    };
    const keep = (words, answer) => (isFixed ? null : button(words, end(answer)));
    const dialog = openDialog(t("Two versions of this memo"), [
      element("p", { class: "muted" },
        t("It was changed in two places at once. Lines that only one version has are marked.")),
      comparedTexts([
        { title: t("This memo"), ...memo, action: keep(t("Keep this"), "this") },
        { title: t("The other version"), ...copy, action: keep(t("Keep the other"), "other") },
      ]),
      element("div", { class: "actions" },
        button(t("Decide later"), end(""), { kind: "quiet" }),
        keep(t("Keep both"), "both")),
    ]);
    dialog.classList.add("dialog-wide");
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
  });
}

/**
 * Shows the former versions of a memo. Resolves with the one that the person restores; null if
 * there is none.
 *
 * @param {{key: string, about: string, text: string}[]} versions the newest first
 * @param {{text: string, about: string, isFixed: boolean}} now the memo as it is
 */
export function chooseVersion(versions, now) {
  return new Promise((resolve) => {
    let chosen = null;
    const place = element("div", {});
    const rows = versions.map((version) => versionRow(version, () => choose(version)));
    const restored = () => {
      dialog.returnValue = "yes";
      dialog.close();
    };
    const restore = button(t("Restore this version"), restored, { kind: "primary", hidden: true });
    const choose = (version) => {
      chosen = version;
      rows.forEach((row, index) =>
        setAttribute(row.firstChild, "aria-pressed", String(versions[index] === version)));
      place.replaceChildren(comparedTexts([
        { title: t("Then"), text: version.text, about: version.about },
        { title: t("Now"), text: now.text, about: now.about },
      ]));
      show(restore, !now.isFixed && version.text !== now.text);
    };
    const dialog = openDialog(t("Former versions"), [
      element("p", { class: "muted" }, aboutVersions(versions)),
      element("ul", { class: "rows version-rows" }, rows), place,
      element("div", { class: "actions" },
        button(t("Close"), () => dialog.close()), restore),
    ]);
    dialog.classList.add("dialog-wide");
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes" ? chosen : null);
    });
  });
}

const aboutVersions = (versions) => joinSentences([
  versions.length === 0 ? t("This browser has not seen another text of this memo yet.") : "",
  t("This browser keeps up to 20 texts of a memo that it has seen while it was open. They stay "
    + "here: the relay and your other devices do not have them. What one device writes within five "
    + "minutes is one version."),
]);

const versionRow = ({ about, text }, choose) => element("li", { class: "row" },
  element("button", { type: "button", class: "memo-row", "aria-pressed": "false",
    on: { click: choose } },
  element("span", { class: "memo-title" }, titleText({ title: text.slice(0, 200).split("\n")[0] })),
  element("span", { class: "memo-beginning muted small" }, about)));
