import { field, newID } from "../components/controls.js";
import { element, setAttribute, setText, show } from "../components/element.js";
import { t, tCount } from "../language/language.js";
import { isReadOnly } from "../text/scopeText.js";
import { zoneText } from "../text/sentences.js";
import { codeLifetimes, codeOptions, codeZones } from "./devicesModel.js";

/** Choice of what a new device may do: as much as this browser, unless the person limits it. */
export class CodeLimits {
  #controller;
  #name = newID("extent");
  #all = element("input", { type: "radio", name: this.#name });
  #some = element("input", { type: "radio", name: this.#name });
  #allText = element("span", {});
  #zones = element("div", { class: "limit-zones", role: "group", "aria-label": t("Apps") });
  #boxes = new Map();
  #reads = element("input", { type: "checkbox" });
  #readsHint = element("p", { class: "hint", id: newID("reads") },
    t("This browser may only read, so it can let others only read."));
  #lifetime = element("select", {}, codeLifetimes.map(({ seconds, minutes }) =>
    element("option", { value: seconds }, tCount(minutes, "{count} minute", "{count} minutes"))));
  #details;

  /** @param {() => void} changed called when the person has changed the choice */
  constructor(controller, changed) {
    this.#controller = controller;
    setAttribute(this.#reads, "aria-describedby", this.#readsHint.id);
    this.#details = element("details", { class: "limits" },
      element("summary", {}, t("Limit what the new device may do")),
      element("div", { class: "limit-choices", on: { change: () => {
        this.show();
        changed();
      } } },
      element("fieldset", {},
        element("legend", {}, t("It may use")),
        element("label", { class: "check" }, this.#all, this.#allText),
        element("label", { class: "check" }, this.#some, t("Only some apps")),
        this.#zones),
      element("label", { class: "check" }, this.#reads, t("It may only read, and change nothing")),
      this.#readsHint,
      field(t("The code is valid for"), this.#lifetime)));
    this.reset();
  }

  get node() { return this.#details; }

  /** Returns the options of a code for this choice; null if the person has chosen no app. */
  get options() {
    return codeOptions({
      zones: this.#some.checked
        ? [...this.#boxes].filter(([, box]) => box.checked).map(([zone]) => zone) : null,
      isReadOnly: this.#reads.checked, seconds: Number(this.#lifetime.value),
    });
  }

  /** Limits nothing, and shows no choice. */
  reset() {
    this.#details.open = false;
    this.#all.checked = true;
    this.#reads.checked = false;
    this.#lifetime.selectedIndex = 0;
    for (const box of this.#boxes.values()) box.checked = false;
  }

  show() {
    const { scope } = this.#controller.status;
    setText(this.#allText, scope?.zones ? t("All that this browser may use")
      : t("The whole account"));
    this.#offer(codeZones(scope, this.#controller.lockstep.records().map(({ zone }) => zone)));
    show(this.#zones, this.#some.checked);
    if (isReadOnly(scope)) this.#reads.checked = true;
    setAttribute(this.#reads, "disabled", isReadOnly(scope));
    show(this.#readsHint, isReadOnly(scope));
  }

  /** Moves the focus to the first app, for a person who has chosen none. */
  focusZones() {
    this.#details.open = true;
    this.#boxes.values().next().value?.focus();
  }

  #offer(zones) {
    if (zones.join("\n") === [...this.#boxes.keys()].join("\n")) return;
    this.#boxes = new Map(zones.map((zone) =>
      [zone, this.#boxes.get(zone) ?? element("input", { type: "checkbox" })]));
    this.#zones.replaceChildren(...Array.from(this.#boxes, ([zone, box]) =>
      element("label", { class: "check" }, box, zoneText(zone))));
  }
}
