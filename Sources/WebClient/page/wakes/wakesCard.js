import { element, setAttribute, setText } from "../components/element.js";
import { t } from "../language/language.js";
import { wakesModel } from "./wakesModel.js";

/** Card with the switch for notifications while the page is closed, and its state. */
export class WakesCard {
  #controller;
  #wakes;
  #input = element("input", { type: "checkbox", role: "switch",
    "aria-describedby": "wakes-state", on: { change: () => this.#switch() } });
  #text = element("p", { class: "muted small", id: "wakes-state", role: "status" });
  node = element("section", { class: "card wakes", "aria-labelledby": "wakes-title" },
    element("h2", { id: "wakes-title" }, t("Notifications")),
    element("p", { class: "muted" },
      t("This device tells you what your other devices have changed while Lockstep is closed. The "
        + "browser's push service learns when something changed, and nothing of what.")),
    element("label", { class: "check" }, this.#input,
      t("Notify me while Lockstep is closed")),
    this.#text);

  constructor(controller, wakes) {
    this.#controller = controller;
    this.#wakes = wakes;
    wakes.subscribe(() => this.show());
  }

  enter() { this.#wakes.refresh(); }

  /** True if the relay waits for the proof that pushes arrive. */
  get isWaiting() { return this.#wakes.state.wake?.state === "unverified"; }

  show() {
    const { now, minutesAhead } = this.#controller;
    const { isOn, canSwitch, text } = wakesModel(this.#wakes.state, now, minutesAhead);
    this.#input.checked = isOn;
    setAttribute(this.#input, "disabled", !canSwitch);
    setText(this.#text, text);
  }

  async #switch() {
    const isWanted = this.#input.checked;
    await (isWanted ? this.#wakes.turnOn() : this.#wakes.turnOff());
    this.show();
  }
}
