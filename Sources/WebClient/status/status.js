import { LiveFigures } from "./liveFigures.js";
import { sections } from "./sections.js";

/** Status page: the figures of the relay that serves it. */

document.getElementById("main").append(...sections());
new LiveFigures({
  root: document.body,
  answer: document.getElementById("answer"),
  pause: document.getElementById("pause"),
  request: (signal) => fetch("/metrics", { signal, cache: "no-store" }),
}).start();
