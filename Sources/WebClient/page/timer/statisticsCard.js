import { timerApp } from "../../apps/timer/timerApp.js";
import { element, setAttribute, setText, show, svgElement } from "../components/element.js";
import { t } from "../language/language.js";
import { statisticsModel, statisticsUnits } from "./statisticsModel.js";

/** Completed focuses by day, week, month or year. */
export class StatisticsCard {
  #controller;
  #unit = "day";
  #shown = "";
  #buttons = statisticsUnits.map(({ unit, words }) => element("button", { type: "button",
    class: "button secondary", "data-unit": unit, on: { click: () => this.#choose(unit) } },
  words()));
  #head = element("th", { scope: "col" });
  #rows = element("tbody", {});
  #note = element("p", { class: "muted small", hidden: true });

  constructor(controller) {
    this.#controller = controller;
    const others = [t("Pomodoros"), t("Focused")].map((words) =>
      element("th", { scope: "col" }, words));
    this.node = element("details", { class: "card settings statistics",
      on: { toggle: () => this.show() } },
    element("summary", {}, t("Statistics")),
    element("div", { class: "statistics-units", role: "group", "aria-label": t("Period") },
      ...this.#buttons),
    element("table", {},
      element("caption", { class: "visually-hidden" }, t("Completed pomodoros, newest first")),
      element("thead", {}, element("tr", {}, this.#head, ...others, element("td", {}))),
      this.#rows),
    this.#note);
  }

  show() {
    if (!this.node.open) return;
    for (const node of this.#buttons) {
      setAttribute(node, "aria-pressed", String(node.dataset.unit === this.#unit));
    }
    const { now } = this.#controller;
    const { head, rows, note } = statisticsModel(this.#controller.state(timerApp), now, this.#unit);
    setText(this.#head, head);
    setText(this.#note, note);
    show(this.#note, note !== "");
    const shown = rows.map((row) => Object.values(row).join(" ")).join("\n");
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.#rows.replaceChildren(...rows.map(rowOf));
  }

  #choose(unit) {
    this.#unit = unit;
    this.show();
  }
}

function rowOf({ label, pomodoros, time, share }) {
  const bar = svgElement("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none",
    class: "statistics-bar", "aria-hidden": "true" },
  svgElement("rect", { width: share * 100, height: 10 }));
  return element("tr", {}, element("th", { scope: "row" }, label),
    element("td", {}, pomodoros), element("td", {}, time), element("td", {}, bar));
}
