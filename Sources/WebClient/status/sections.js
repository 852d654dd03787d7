/** Elements of a relay's figures, empty: `View` fills those with a name. */

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const svg = (attributes) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};

/** Place of a value. */
const value = (name, text = "–") => make("span", { "data-text": name }, text);
const foot = (...words) => make("p", { class: "foot" }, ...words);
const lead = (...words) => make("p", { class: "lead" }, ...words);
const column = (words) => make("th", { scope: "col" }, words);
const rows = (name) => make("tbody", { "data-rows": name });

function section(id, title, kind, ...children) {
  return make("section", { "aria-labelledby": id, ...kind && { class: kind } },
    make("h2", { id }, title), ...children);
}

/** A large value with a note, and its line over time. */
const tile = (words, name, unit, ...note) => make("div", {},
  make("dt", {}, words),
  make("dd", {}, value(name), ...unit ? [" ", make("small", {}, unit)] : []),
  make("dd", { class: "note" }, ...note),
  make("dd", { class: "picture", "aria-hidden": "true" }, svg({ "data-line": name })));

/** Values with names: `[words, name]`. */
const figures = (...list) => make("dl", { class: "figures" }, ...list.map(([words, name]) =>
  make("div", {}, make("dt", {}, words), make("dd", { "data-text": name }, "–"))));

/** Median and 99th percentile of durations, and their lines over time. */
const durations = (name) => [
  lead(make("b", { class: "key-first" }, "p50"), " ", value(`${name}Middle`), ", ",
    make("b", { class: "key-second" }, "p99"), " ", value(`${name}Most`)),
  make("div", { class: "plot", "aria-hidden": "true" },
    make("p", {}, value(`${name}Ceiling`, ""), " ", value(`${name}Floor`, "")),
    svg({ "data-line": name })),
];

const now = () => section("people", "Now", "wide",
  make("dl", { class: "tiles" },
    tile("Devices connected", "devices", "", value("accounts")),
    tile("Connections", "connections", "", value("accepted"), " new a second"),
    tile("Saves", "saves", "a second", value("commits"), " requests a second"),
    tile("Deliveries", "deliveries", "a second", value("hints"), " hints a second")),
  foot("Rates are those of the last 10 s; lines show the last 3 min that this page saw."));

const lag = () => section("lag", "From commit to socket", "wide",
  lead(value("lagSummary")),
  svg({ "data-bars": "lag", class: "histogram", "aria-hidden": "true" }),
  foot("How long changes of the last minute took from when they were durable until they were "
    + "sent, one for each receiver. Each bar is a range of times, which grows to the right."),
  make("details", {}, make("summary", {}, "As a table"),
    make("table", {},
      make("thead", {}, make("tr", {}, column("up to"), column("deliveries"))), rows("lag"))));

const transports = () => section("transports", "Connections by transport", "",
  make("table", { class: "measures" },
    make("thead", { class: "unseen" },
      make("tr", {}, column("transport"), column("connections"))),
    rows("transports")),
  foot("HTTP is what carries no changes just now: requests, and this page."));

const commits = () => section("commits", "Commits", "", ...durations("commit"),
  foot("A transaction, from its beginning until it is durable: ", value("commitCount"),
    " in the last minute."));

const syncs = () => section("syncs", "Syncs to disk", "", ...durations("sync"),
  foot("Most of a commit: ", value("syncCount"),
    " in the last minute. Beyond 50 ms, look at the disk."));

const queues = () => section("queues", "Queues", "", figures(
  ["Requests that wait for the store", "storeRequests"],
  ["Bytes that wait to leave", "outboundBytes"],
  ["Bytes held for requests and answers", "bodyBytes"],
  ["Chunks of files under way", "transfers"]));

const slow = () => section("slow", "Slow devices", "",
  figures(["Closed, as they took nothing for long", "slowDevices"],
    ["Told by a hint, as a push was too much", "hinted"],
    ["Read later, as they asked too often", "throttles"]),
  foot("Since the relay began."));

const rejected = () => section("rejected", "Rejected, by reason", "wide last",
  make("p", { "data-text": "rejectedNothing" }, "–"),
  make("table", { hidden: "", "data-table": "rejected" },
    make("thead", {}, make("tr", {}, column("reason"), column("last minute"), column("in all"))),
    rows("rejected")));

const store = () => section("store", "Store and process", "", figures(
  ["Database", "storeBytes"], ["Write-ahead log", "logBytes"],
  ["Requests that the store failed", "storeFailures"], ["Memory", "residentBytes"],
  ["Processor, of one core", "processor"], ["Descriptors", "descriptors"]));

/** Returns all sections, in their order. */
export const sections = () =>
  [now, lag, transports, commits, syncs, queues, slow, rejected, store].map((it) => it());
