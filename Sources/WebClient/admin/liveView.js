import { button } from "../page/components/controls.js";
import { element } from "../page/components/element.js";
import { LiveFigures } from "../status/liveFigures.js";
import { sections } from "../status/sections.js";

/** View of the relay's figures, as on its status page. */
export class LiveView {
  title = "Live figures";
  #figures;

  constructor(page) {
    const answer = element("p", { class: "live-answer", role: "status", "data-state": "asking" },
      "Asking the relay …");
    const pause = button("Pause", () => {}, { "aria-pressed": "false" });
    this.node = element("div", { class: "view" },
      element("div", { class: "view-head" },
        element("div", {}, element("h1", {}, "Live figures"),
          element("p", { class: "muted small" },
            element("span", { "data-text": "version" }, "–"), " ",
            element("span", { "data-text": "uptime" }))),
        element("div", { class: "actions" }, answer, pause)),
      element("div", { class: "live" }, sections()));
    this.#figures = new LiveFigures({ root: this.node, answer, pause,
      request: (signal) => page.calls.metrics(signal) });
  }

  enter() { this.#figures.start(); }

  leave() { this.#figures.stop(); }
}
