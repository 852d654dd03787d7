import { button } from "../components/controls.js";
import { openDialog } from "../components/dialog.js";
import { element } from "../components/element.js";
import { t } from "../language/language.js";

/**
 * Asks what to do with a file whose name another one has. Resolves with "replace", "both" or null.
 *
 * @param {{file: string, about: string}} held the file that is there
 */
export function askToReplace({ file, about }) {
  return new Promise((resolve) => {
    const end = (answer) => () => {
      dialog.returnValue = answer;
      dialog.close();
    };
    const dialog = openDialog(t("There is a file of that name"), [
      element("p", { class: "file-name" }, file), element("p", { class: "muted" }, about),
      element("p", {}, t("If you replace it, all devices get the new content under this name.")),
      element("div", { class: "actions" },
        button(t("Cancel"), end(""), { autofocus: true }), button(t("Keep both"), end("both")),
        button(t("Replace"), end("replace"), { kind: "primary" })),
    ]);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
  });
}

/**
 * Offers a file that is there to be opened.
 *
 * @param {{file: string, url: string}} fetched
 */
export function offerToOpen({ file, url }) {
  const dialog = openDialog(t("The file is ready"), [
    element("p", { class: "file-name" }, file),
    element("div", { class: "actions" },
      button(t("Close"), () => dialog.close()),
      element("a", { class: "button primary", href: url, target: "_blank", rel: "noopener",
        autofocus: true, on: { click: () => dialog.close() } }, t("Open it in a new tab"))),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
}

/**
 * Shows a file with all that can be done with it.
 *
 * @param {{file: string, about: string, state: string,
 *   actions: {words: string, name: string, changes?: boolean, act: () => void}[],
 *   versions: {about: string, actions: {words: string, changes?: boolean, act: () => void}[]}[]}}
 *   details
 * @param {boolean} isFixed this device may not change the file
 */
export function showDetails({ file, about, state, actions, versions }, isFixed) {
  const ended = (act) => () => {
    dialog.close();
    act();
  };
  const buttons = (list) => list.filter(({ changes }) => !changes || !isFixed)
    .map(({ words, name, act }) => button(words, ended(act), { "data-name": name }));
  const dialog = openDialog(t("File"), [
    element("p", { class: "file-name" }, file),
    element("p", { class: "muted" }, about), element("p", {}, state),
    element("div", { class: "file-orders" }, buttons(actions)),
    element("h3", {}, t("Former versions")),
    element("p", { class: "muted small" }, versions.length === 0 ? noVersions() : keptVersions()),
    element("ul", { class: "rows file-versions" }, versions.map((version) =>
      element("li", { class: "row" }, element("p", { class: "row-body small" }, version.about),
        element("div", { class: "file-orders" }, buttons(version.actions))))),
    element("div", { class: "actions" },
      button(t("Close"), () => dialog.close(), { autofocus: true })),
  ]);
  dialog.addEventListener("close", () => dialog.remove());
}

const noVersions = () =>
  t("This browser has not seen another version of this file while it was open.");
const keptVersions = () =>
  t("This browser lists the versions that it has seen while it was open. The relay keeps the "
    + "content of a version for a day after another one has replaced it.");
