import { serialize } from "../json/jsonValue.js";
import { newID, field, form } from "../page/components/controls.js";
import { element, show } from "../page/components/element.js";
import { Action } from "./action.js";
import { knownZones, planFields, planOfFields } from "./planModel.js";

/** Form for the plan of an account: its zones, and its limits. */
export class PlanForm {
  #save;
  #group = newID("plan");
  #all = element("input", { type: "radio", name: this.#group });
  #some = element("input", { type: "radio", name: this.#group });
  #boxes = new Map(knownZones.map((zone) => [zone, element("input", { type: "checkbox" })]));
  #others = element("textarea", { rows: 2, spellcheck: "false", autocomplete: "off" });
  #mebibytes = element("input", { type: "text", inputmode: "decimal", autocomplete: "off" });
  #records = element("input", { type: "text", inputmode: "numeric", autocomplete: "off" });
  #zones;
  #action;
  /** The plan that the fields show, as the relay has it. */
  #shown = null;
  #isChanged = false;
  /** Changes with each account that is shown. */
  #turn = 0;

  /**
   * @param {(plan: object, saved: () => void) => Promise<void>} save calls `saved` before it shows
   *   the plan that the relay then has
   */
  constructor(save) {
    this.#save = save;
    this.#action = new Action("Save the plan", () => this.#submit(),
      { kind: "primary", isSubmit: true });
    this.#zones = element("div", { class: "stack" },
      element("div", { class: "zone-choices", role: "group", "aria-label": "Zones" },
        [...this.#boxes].map(([zone, box]) => element("label", { class: "check" }, box, zone))),
      field("Other zones, one a line", this.#others));
    const changed = () => {
      this.#isChanged = true;
      show(this.#zones, this.#some.checked);
    };
    this.node = element("section", { class: "card", "aria-labelledby": `${this.#group}-title` },
      element("h2", { id: `${this.#group}-title` }, "Plan"),
      form({ class: "stack" }, () => this.#action.run(),
        element("fieldset", {},
          element("legend", {}, "It may sync"),
          element("label", { class: "check" }, this.#all, "All zones"),
          element("label", { class: "check" }, this.#some, "Only these zones"), this.#zones),
        element("div", { class: "limit-fields" },
          field("Room for records, in MiB", this.#mebibytes, "Empty: the relay's own limit."),
          field("Number of records", this.#records, "Empty: the relay's own limit.")),
        this.#action.problem,
        element("div", { class: "actions" }, this.#action.button)));
    this.node.addEventListener("input", changed);
    this.node.addEventListener("change", changed);
  }

  /** Shows a plan that was read; what a person has begun to change stays. */
  show(plan) {
    const signature = serialize(plan);
    if (signature === this.#shown || this.#isChanged) return;
    this.#shown = signature;
    this.#fill(planFields(plan));
  }

  /** Forgets what a person has begun to change. */
  reset() {
    this.#turn += 1;
    this.#isChanged = false;
    this.#shown = null;
    this.#action.reset();
  }

  #fill({ isLimited, known, others, mebibytes, records }) {
    this.#all.checked = !isLimited;
    this.#some.checked = isLimited;
    for (const [zone, box] of this.#boxes) box.checked = known.includes(zone);
    this.#others.value = others;
    this.#mebibytes.value = mebibytes;
    this.#records.value = records;
    show(this.#zones, isLimited);
  }

  async #submit() {
    const read = planOfFields({
      isLimited: this.#some.checked,
      known: [...this.#boxes].filter(([, box]) => box.checked).map(([zone]) => zone),
      others: this.#others.value, mebibytes: this.#mebibytes.value, records: this.#records.value,
    });
    if (read.problem) {
      this.#action.fail(read.problem);
      ({ others: this.#others, mebibytes: this.#mebibytes, records: this.#records })[read.field]
        .focus();
      return;
    }
    const turn = this.#turn;
    await this.#save(read.plan, () => { if (turn === this.#turn) this.reset(); });
  }
}
