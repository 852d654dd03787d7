import { figuresOf } from "./figures.js";
import { History } from "./history.js";
import { RelayAvailability } from "./relayAvailability.js";
import { View, uptimeText } from "./view.js";

/** Status page: requests the relay's metrics once a second, and shows them. */

const intervalMilliseconds = 1_000;
/** Timeout of a request. */
const timeoutMilliseconds = 3_000;
const gapSeconds = 6;
/** Three minutes of samples. */
const samples = 181;
/** Maximum length; a relay's metrics have some 15 kB. */
const charactersMax = 1 << 20;

const history = new History(samples);
const view = new View({ document, places: samples });
const answer = document.getElementById("answer");
const pause = document.getElementById("pause");
const availability = new RelayAvailability((wall) =>
  new Date(wall).toLocaleTimeString([], { hourCycle: "h23" }));
let timer;
let isAsking = false;
let askedAt = null;

async function requestAndShow() {
  isAsking = true;
  try {
    markGap();
    await sample();
    view.show(history);
    showAvailability();
  } finally {
    isAsking = false;
    schedule();
  }
}

async function sample() {
  try {
    const { text, wall } = await metrics();
    const figures = figuresOf(text);
    history.add(performance.now() / 1_000, figures);
    availability.answered(Date.now());
    view.showUptime(uptimeText(figures.startedAt, wall));
  } catch (fault) {
    history.add(performance.now() / 1_000, null);
    availability.failed(Date.now());
    answer.title = fault.message;
  }
}

/** Adds a gap to the lines after a time without requests, about which nothing is known. */
function markGap() {
  const now = performance.now() / 1_000;
  if (askedAt !== null && now - askedAt > gapSeconds) {
    history.add(now, null);
    view.show(history);
  }
  askedAt = now;
}

/** Returns the metrics and the time of the relay's clock in seconds, which may differ from this
 * machine's. */
async function metrics() {
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const response = await fetch("/metrics", { signal, cache: "no-store" });
  if (!response.ok) throw new Error(`the relay answered with ${response.status}`);
  const text = await response.text();
  if (text.length > charactersMax) throw new Error("the answer is too long to be metrics");
  return { text, wall: Date.parse(response.headers.get("Date")) / 1_000 };
}

/** Schedules the next request; not while the page is hidden or paused. */
function schedule() {
  clearTimeout(timer);
  const isDue = !isAsking && !availability.isPaused && !document.hidden;
  if (isDue) timer = setTimeout(requestAndShow, intervalMilliseconds);
}

function showAvailability() {
  const { state, words, isSilent } = availability;
  view.setOld(isSilent);
  answer.dataset.state = state;
  if (!isSilent) answer.removeAttribute("title");
  if (answer.textContent !== words) answer.textContent = words;
}

pause.addEventListener("click", () => {
  availability.isPaused = !availability.isPaused;
  pause.setAttribute("aria-pressed", String(availability.isPaused));
  showAvailability();
  schedule();
});
document.addEventListener("visibilitychange", schedule);

requestAndShow();
