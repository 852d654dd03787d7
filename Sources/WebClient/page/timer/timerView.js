import { settingsOf, timerApp } from "../../apps/timer/timerApp.js";
import { button, field, form } from "../components/controls.js";
import { svgElement, element, setAttribute, setText, show } from "../components/element.js";
import { t } from "../language/language.js";
import { isReadOnly } from "../text/scopeText.js";
import { errorText } from "../text/errorText.js";
import { AlertCard } from "./alerts/alertCard.js";
import { FloatingCountdown } from "./floatingCountdown.js";
import { StatisticsCard } from "./statisticsCard.js";
import { changedSettings, settingFields, timerModel } from "./timerModel.js";

const radius = 140;
const length = 2 * Math.PI * radius;

/** Letters of the terminal's `timer watch`. */
const letters = [
  { keys: ["s"], words: () => t("Start a focus"), order: "start" },
  { keys: ["p"], words: () => t("Pause"), order: "pause" },
  { keys: ["r"], words: () => t("Resume"), order: "resume" },
  { keys: ["x"], words: () => t("Stop"), order: "stop" },
  { keys: ["k"], words: () => t("Skip to the next phase"), order: "skip" },
  { keys: ["z"], words: () => t("Snooze: put the break off"), order: "snooze" },
];

/** View of the timer: the countdown, as large as the screen allows, and its actions. */
export class TimerView {
  title = t("Timer");
  zone = timerApp.zone;
  #controller;
  #notify;
  #spoken = null;
  #orders = "";
  #phase = element("p", { class: "timer-phase" });
  #time = element("p", { class: "timer-time", role: "timer", "aria-live": "off" });
  #ring = svgElement("circle", { class: "ring-left", cx: 150, cy: 150, r: radius,
    "stroke-dasharray": length });
  #dots = element("span", { class: "dots", "aria-hidden": "true" });
  #count = element("span", {});
  #by = element("p", { class: "muted small timer-by" });
  #buttons = element("div", { class: "timer-orders", "data-changes": true });
  #announcement = element("p", { class: "visually-hidden", role: "status" });
  #settings;
  #alerts;
  #alertCard;
  #floating;
  #statistics;

  constructor(controller, notify, { alerts }) {
    this.#controller = controller;
    this.#notify = notify;
    this.#settings = new SettingsForm(controller, notify);
    this.#alerts = alerts;
    this.#alertCard = new AlertCard(controller, alerts, notify);
    this.#floating = new FloatingCountdown(controller.browser,
      { act: (order) => this.act(order), read: () => this.#read() });
    this.#statistics = new StatisticsCard(controller);
    const ring = svgElement("svg", { viewBox: "0 0 300 300", class: "ring", "aria-hidden": "true" },
      svgElement("circle", { class: "ring-ground", cx: 150, cy: 150, r: radius }), this.#ring);
    this.node = element("section", { class: "view timer", "aria-label": t("Timer") },
      element("h1", { class: "visually-hidden" }, t("Timer")),
      element("div", { class: "timer-face" }, ring,
        element("div", { class: "timer-words" }, this.#phase, this.#time,
          element("p", { class: "timer-count" }, this.#dots))),
      this.#buttons,
      this.#floating.isAvailable && button(t("Float the countdown"), () => this.#float(),
        { kind: "quiet", class: "button quiet float" }),
      element("p", { class: "timer-summary" }, this.#count),
      this.#by, this.#announcement, this.#settings.node, this.#alertCard.node,
      this.#statistics.node);
  }

  get shortcuts() {
    const pauses = { keys: [" "], words: t("Pause or resume"), changes: true,
      act: () => this.act(this.#read().model.isPaused ? "resume" : "pause") };
    return [pauses, ...letters.map(({ keys, words, order }) =>
      ({ keys, words: words(), changes: true, act: () => this.act(order) }))];
  }

  #read() {
    const { now, minutesAhead, status } = this.#controller;
    const isFixed = isReadOnly(status.scope) || status.lockedZones.includes(this.zone);
    const model = timerModel(this.#controller.state(timerApp), now, minutesAhead);
    return { model, now, isFixed };
  }

  show() {
    const { model } = this.#read();
    setText(this.#phase, model.phase);
    setText(this.#time, model.time);
    setText(this.#count, model.count);
    setText(this.#by, model.by);
    setAttribute(this.node, "data-state", model.isPaused ? "paused" : model.stateType);
    setAttribute(this.#time, "data-long", model.time.length > 5);
    setAttribute(this.#ring, "stroke-dashoffset", (length * (1 - model.part)).toFixed(1));
    this.#showDots(model.dots);
    this.#showOrders(model.orders);
    this.#speak(model);
    this.#settings.show();
    this.#alertCard.show();
    this.#floating.show();
    this.#statistics.show();
  }

  async #float() {
    try {
      await this.#floating.toggle();
    } catch (error) {
      this.#notify(errorText(error));
    }
  }

  #showDots(dots) {
    if (this.#dots.childElementCount !== dots.length) {
      this.#dots.replaceChildren(...dots.map(() => element("span", { class: "dot" })));
    }
    dots.forEach((isDone, index) =>
      setAttribute(this.#dots.children[index], "data-done", isDone));
  }

  #showOrders(orders) {
    const names = orders.map((it) => `${it.do} ${it.words}`).join("\n");
    if (names === this.#orders) return;
    this.#orders = names;
    const focused = this.#buttons.contains(document.activeElement);
    this.#buttons.replaceChildren(...orders.map((order, index) =>
      button(order.words, () => this.act(order.do),
        { kind: index === 0 ? "primary" : "secondary", "data-order": order.do })));
    if (focused) this.#buttons.firstElementChild?.focus();
  }

  /** Announces only changes of the phase, not the countdown. */
  #speak({ stateType, isPaused, spoken }) {
    const turn = `${stateType} ${isPaused}`;
    if (this.#spoken !== null && this.#spoken !== turn) this.#announcement.textContent = spoken;
    this.#spoken = turn;
  }

  /** Performs an order. Call it in the handler of a press. */
  async act(order) {
    this.#alerts.unlock();
    try {
      await this.#controller.act(timerApp, { do: order });
    } catch (error) {
      this.#notify(errorText(error));
    }
  }
}

/** Form for the lengths of the phases. Typed values stay until they are saved. */
class SettingsForm {
  #controller;
  #notify;
  #shown = "";
  #inputs = new Map();
  #autoStart = element("input", { type: "checkbox" });
  #problem = element("p", { class: "problem", role: "alert", hidden: true });

  constructor(controller, notify) {
    this.#controller = controller;
    this.#notify = notify;
    const fields = settingFields.map(({ name, label }) => {
      const input = element("input", { type: "number", min: 0, step: "any", required: true,
        inputmode: "decimal" });
      this.#inputs.set(name, input);
      return field(label(), input);
    });
    this.node = element("details", { class: "card settings", "data-changes": true },
      element("summary", {}, t("Lengths and breaks")),
      form({ class: "settings-form" }, () => this.#save(),
        element("div", { class: "settings-fields" }, ...fields),
        element("label", { class: "check" }, this.#autoStart,
          t("Breaks begin by themselves")),
        this.#problem,
        element("div", { class: "actions" },
          element("button", { type: "submit", class: "button primary" }, t("Save")))));
  }

  show() {
    const words = this.#words;
    const shown = Object.values(words).join(" ");
    if (shown === this.#shown) return;
    this.#shown = shown;
    for (const [name, input] of this.#inputs) input.value = words[name];
    this.#autoStart.checked = words.autoStart;
  }

  get #words() { return settingsOf(this.#controller.state(timerApp)).words; }

  async #save() {
    const typed = { autoStart: this.#autoStart.checked };
    for (const [name, input] of this.#inputs) typed[name] = input.value;
    const settings = changedSettings(typed, this.#words);
    show(this.#problem, false);
    if (Object.keys(settings).length === 0) return;
    try {
      await this.#controller.act(timerApp, { do: "set", settings });
      this.#notify(t("Saved. It holds from the next phase on."));
    } catch (error) {
      this.#problem.textContent = errorText(error);
      show(this.#problem, true);
    }
  }
}
