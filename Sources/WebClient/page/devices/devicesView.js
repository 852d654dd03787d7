import { button, field, form, iconButton } from "../components/controls.js";
import { confirmAction, openDialog } from "../components/dialog.js";
import { element, setText, show } from "../components/element.js";
import { KeyedList } from "../components/keyedList.js";
import { waitingImages } from "../clipboard/imageOutbox.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { languageField } from "../shell/languageField.js";
import { ownScopeText } from "../text/scopeText.js";
import { joinSentences } from "../text/sentences.js";
import { errorText } from "../text/errorText.js";
import { WakesCard } from "../wakes/wakesCard.js";
import { signOutQuestion } from "../welcome/welcomeModel.js";
import { confirmLastSignOut } from "./lastDevice.js";
import {
  deviceRows, newPhraseText, onlyDeviceText, pairAgainText, removalQuestion,
} from "./devicesModel.js";
import { KeysCard } from "./keysCard.js";
import { PairCard } from "./pairCard.js";

/** View of the account's devices: shows connected devices, adds and removes devices. */
export class DevicesView {
  title = t("Devices");
  #controller;
  #notify;
  #keys;
  #pair;
  #wakes;
  #next = null;
  #list = element("ul", { class: "rows" });
  #rows = new KeyedList(this.#list, (row) => this.#row(row));
  #ownScope = element("p", { class: "muted small own-scope", hidden: true });
  #problem = element("p", { class: "muted small", hidden: true });
  #signOutHint = element("p", { class: "hint" });
  #pairAgain = element("p", { class: "problem", role: "status", hidden: true });

  constructor(controller, notify, { wakes, reload }) {
    this.#controller = controller;
    this.#notify = notify;
    this.#keys = new KeysCard(controller, () => this.#refreshAll());
    this.#pair = new PairCard(controller, notify, () => this.#watch());
    this.#wakes = new WakesCard(controller, wakes);
    this.node = element("section", { class: "view", "aria-labelledby": "devices-title" },
      element("div", { class: "view-head" }, element("h1", { id: "devices-title" }, t("Devices"))),
      this.#list, this.#pairAgain, this.#ownScope, this.#problem, this.#keys.node,
      this.#pair.node, this.#wakes.node,
      element("div", { class: "card languages" },
        languageField(controller.browser.choices, reload)),
      element("div", { class: "sign-out" },
        button(t("Sign out of this browser"), () => this.#signOut(), { kind: "danger" }),
        this.#signOutHint));
  }

  prepare() { return this.#refreshWords(); }

  enter() {
    this.#wakes.enter();
    this.#refreshWords();
    this.#watch();
  }

  leave() {
    this.#controller.browser.clearTimer(this.#next);
    this.#pair.hide();
    this.#keys.leave();
  }

  /** Refreshes the list while the page is visible. */
  #watch() {
    this.#controller.browser.clearTimer(this.#next);
    if (document.visibilityState === "visible") {
      this.#refresh({ isForced: this.#pair.isShown });
      if (this.#wakes.isWaiting) this.#wakes.enter();
    }
    const { browser } = this.#controller;
    this.#next = browser.setTimer(() => this.#watch(),
      this.#pair.isShown ? limits.arrivalMilliseconds : limits.devicesMilliseconds);
  }

  show() {
    const { devices, status, now, minutesAhead } = this.#controller;
    this.#rows.show(deviceRows(devices, status.deviceID, now, minutesAhead));
    const text = ownScopeText(status.scope);
    setText(this.#ownScope, text);
    show(this.#ownScope, text !== "");
    setText(this.#signOutHint, this.#isLast
      ? onlyDeviceText(this.#controller.checkWords !== null)
      : t("What is on the relay and on your other devices stays there."));
    this.#keys.show();
    this.#pair.show();
    this.#wakes.show();
  }

  /** True if the account has no other device, as far as is known. A device for a part of the
   * account does not see the others. */
  get #isLast() {
    const { devices, status } = this.#controller;
    return status.scope === null && devices.length === 1
      && devices[0].deviceID === status.deviceID;
  }

  async #refreshWords() {
    try {
      await this.#controller.refreshCheckWords();
    } catch (error) {
      this.#notify(errorText(error));
    }
  }

  #refreshAll() {
    this.#refreshWords();
    this.#refresh({ isForced: true });
  }

  async #refresh(options) {
    try {
      await this.#controller.refreshDevices(options);
      show(this.#problem, false);
    } catch (error) {
      setText(this.#problem, joinSentences([t("As last known."), errorText(error)]));
      show(this.#problem, true);
    }
  }

  #row(row) {
    const { label, isOwn, isConnected, about, scope } = row;
    return element("li", { class: "row" },
      element("span", { class: "presence", "data-connected": isConnected, "aria-hidden": "true" }),
      element("div", { class: "row-body" },
        element("p", { class: "device-name" }, label, " ",
          isOwn && element("span", { class: "badge" }, t("This browser"))),
        scope !== "" && element("p", { class: "device-scope small" }, scope),
        element("p", { class: "muted small" }, about)),
      element("div", { class: "row-actions" },
        iconButton("edit", t("Rename {name}", { name: label }), () => this.#rename(row),
          { "data-name": "rename" }),
        !isOwn && iconButton("remove", t("Remove {name}", { name: label }), () => this.#revoke(row),
          { "data-name": "remove" })));
  }

  #rename({ key, name }) {
    const input = element("input", { type: "text", value: name, autocomplete: "off",
      maxlength: limits.deviceName });
    const problem = element("p", { class: "problem", role: "alert", hidden: true });
    const saved = async () => {
      try {
        await this.#controller.lockstep.rename(key, input.value.trim());
        dialog.close();
        await this.#refresh({ isForced: true });
      } catch (error) {
        problem.textContent = errorText(error);
        show(problem, true);
      }
    };
    const dialog = openDialog(t("Rename the device"), [
      form({ class: "stack" }, saved, field(t("Name"), input), problem,
        element("div", { class: "actions" },
          button(t("Cancel"), () => dialog.close()),
          element("button", { type: "submit", class: "button primary" }, t("Save")))),
    ]);
    dialog.addEventListener("close", () => dialog.remove());
    input.select();
  }

  async #revoke(row) {
    const hasKeys = this.#controller.checkWords !== null;
    if (!await confirmAction(removalQuestion(row, hasKeys))) return;
    try {
      const { pairAgain } = await this.#controller.lockstep.revoke(row.key);
      this.#notify(t("“{name}” is removed.", { name: row.label }));
      const words = [pairAgainText(pairAgain), hasKeys ? newPhraseText() : null].filter(Boolean);
      setText(this.#pairAgain, joinSentences(words));
      show(this.#pairAgain, words.length > 0);
      await this.#controller.refreshCheckWords();
      await this.#refresh({ isForced: true });
    } catch (error) {
      this.#notify(errorText(error));
    }
  }

  async #signOut() {
    // Another device may have joined, or left, since the list was read.
    await this.#refresh({ isForced: true });
    const { hasUnsent, unsent, ...question } = signOutQuestion(this.#controller.status,
      await waitingImages(this.#controller));
    const isSure = this.#isLast ? await confirmLastSignOut(this.#controller, unsent)
      : await confirmAction(question);
    if (!isSure) return;
    try {
      await this.#controller.lockstep.signOut({ discardUnsent: hasUnsent, offline: true });
    } catch (error) {
      this.#notify(errorText(error));
    }
  }
}
