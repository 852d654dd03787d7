import { drawHistogram, drawLines, shareBar } from "./drawing.js";
import { bucketsOf, countOf, quantileOf } from "./histogram.js";
import { largest, linear, logarithmic, nextPower, niceCeiling, sharesOf } from "./scales.js";
import { bytes, count, duration, few, percent, reason, span } from "./format.js";

/** Shows a history in the page: figures as text, and pictures of them. */

/** Period in seconds of shown rates: the loops of a relay exchange their counters every 5 s. */
const rateSeconds = 10;
const minute = 60;
/** Lower bound of the pictures of durations: hardly any disk is faster. */
const leastSeconds = 0.0001;
const transports = {
  websocket: "WebSocket", events: "Server-sent events", "long-poll": "Long-poll", http: "HTTP",
};

export class View {
  /**
   * @param {{document: Document, root: Element, places: number}} page `root` has the elements that
   *   are filled; `places`: samples side by side
   */
  constructor({ document, root, places }) {
    this.document = document;
    this.root = root;
    this.places = places;
    /** Values of each line so far, oldest first; null if not known. */
    this.tracks = {};
  }

  /** @param {import("./history.js").History} history its newest sample was just added */
  show(history) {
    const figures = history.samples.at(-1)?.figures ?? null;
    const known = pointsOf(history);
    for (const [name, value] of Object.entries(known)) this.track(name, value);
    if (figures) this.showFigures(figures, history, known);
    this.drawTracks();
  }

  track(name, value) {
    const values = this.tracks[name] ??= [];
    values.push(value);
    if (values.length > this.places) values.shift();
  }

  showFigures(figures, history, known) {
    const { counters } = figures;
    const rate = (name) => few(history.rate(rateSeconds, (it) => it.counters[name]));
    this.setTexts({
      version: `version ${figures.version}`,
      devices: count(figures.connectedDevices),
      accounts: `of ${count(figures.connectedAccounts)} accounts; `
        + `${count(figures.accounts)} in the store`,
      connections: count(known.connections),
      accepted: rate("accepted"), saves: few(known.saves), commits: rate("commits"),
      deliveries: few(known.deliveries), hints: rate("hints"),
      storeRequests: count(figures.storeRequests), outboundBytes: bytes(figures.outboundBytes),
      bodyBytes: bytes(figures.bodyBytes),
      transfers: `${count(figures.uploads)} in, ${count(figures.downloads)} out`,
      slowDevices: count(counters.slowDevices), hinted: count(counters.hints),
      throttles: count(counters.throttles),
      storeBytes: bytes(figures.storeBytes), logBytes: bytes(figures.logBytes),
      storeFailures: count(counters.storeFailures), residentBytes: bytes(figures.residentBytes),
      processor: percent(history.rate(rateSeconds, (it) => it.counters.processorSeconds)),
      descriptors: `${count(figures.openDescriptors)} of ${count(figures.mostDescriptors)}`,
    });
    this.showTransports(figures.connections);
    this.showLag(history.histogram(minute, (it) => it.histograms.lag));
    this.showTimes("commit", history);
    this.showTimes("sync", history);
    this.showRejected(figures.rejected, history);
  }

  /** @param {string} text time since the relay's start */
  showUptime(text) { this.setTexts({ uptime: text }); }

  showTransports(connections) {
    const all = [...connections?.values() ?? []].reduce((sum, it) => sum + it, 0);
    this.rows("transports", [...connections ?? []].map(([name, open]) => {
      const row = this.row(transports[name] ?? name, [count(open)]);
      const picture = this.document.createElement("td");
      picture.setAttribute("aria-hidden", "true");
      picture.append(shareBar(all === 0 ? 0 : open / all));
      row.append(picture);
      return row;
    }));
  }

  showLag(histogram) {
    const isEmpty = !histogram || countOf(histogram) === 0;
    this.setTexts({ lagSummary: lagText(histogram) });
    drawHistogram(this.find("bars", "lag"), isEmpty ? null : histogram);
    const buckets = isEmpty ? [] : bucketsOf(histogram);
    this.rows("lag", buckets.flatMap((value, index) => (value === 0 ? [] : [
      this.row(histogram.bounds[index] === Infinity
        ? "longer" : duration(histogram.bounds[index]), [count(value)]),
    ])));
  }

  showTimes(name, history) {
    const histogram = history.histogram(minute, (it) => it.histograms[name]);
    const at = (share) => duration(histogram && quantileOf(histogram, share));
    this.setTexts({
      [`${name}Middle`]: at(0.5), [`${name}Most`]: at(0.99),
      [`${name}Count`]: count(histogram && countOf(histogram)),
    });
  }

  showRejected(rejected, history) {
    const reasons = [...rejected ?? []].filter(([, times]) => times > 0)
      .sort((left, right) => right[1] - left[1]);
    const table = this.find("table", "rejected");
    table.hidden = reasons.length === 0;
    this.find("text", "rejectedNothing").hidden = reasons.length > 0;
    this.setTexts({ rejectedNothing: rejected ? "Nothing, since the relay began." : "–" });
    this.rows("rejected", reasons.map(([code, times]) => {
      const lately = history.increase(minute, (it) => it.rejected?.get(code) ?? null);
      return this.row(reason(code), [count(lately), count(times)]);
    }));
  }

  drawTracks() {
    const { places, tracks } = this;
    for (const name of ["devices", "connections", "saves", "deliveries"]) {
      const ceiling = niceCeiling(largest(tracks[name]));
      const shares = sharesOf(tracks[name], linear(ceiling));
      drawLines(this.find("line", name), [shares], places);
    }
    for (const name of ["commit", "sync"]) {
      const lines = [tracks[`${name}Middle`], tracks[`${name}Most`]];
      const ceiling = nextPower(Math.max(largest(lines.flat()), 10 * leastSeconds));
      const shares = lines.map((values) => sharesOf(values, logarithmic(leastSeconds, ceiling)));
      drawLines(this.find("line", name), shares, places);
      this.setTexts({
        [`${name}Floor`]: duration(leastSeconds), [`${name}Ceiling`]: duration(ceiling),
      });
    }
  }

  /** Greys out old figures. */
  setOld(isOld) { this.root.classList.toggle("old", isOld); }

  find(kind, name) { return this.root.querySelector(`[data-${kind}="${name}"]`); }

  setTexts(texts) {
    for (const [name, text] of Object.entries(texts)) {
      const element = this.find("text", name);
      if (element.textContent !== text) element.textContent = text;
    }
  }

  rows(name, rows) { this.find("rows", name).replaceChildren(...rows); }

  row(title, values) {
    const row = this.document.createElement("tr");
    const head = this.document.createElement("th");
    head.scope = "row";
    head.textContent = title;
    row.append(head, ...values.map((value) => {
      const cell = this.document.createElement("td");
      cell.textContent = value;
      return cell;
    }));
    return row;
  }
}

/** Returns the values of the lines for the newest sample. */
function pointsOf(history) {
  const open = history.samples.at(-1)?.figures?.connections ?? null;
  const times = (name, share) => {
    const histogram = history.histogram(rateSeconds, (it) => it.histograms[name]);
    return histogram && quantileOf(histogram, share);
  };
  return {
    devices: history.samples.at(-1)?.figures?.connectedDevices ?? null,
    connections: open && [...open.values()].reduce((sum, it) => sum + it, 0),
    saves: history.rate(rateSeconds, (it) => it.counters.saves),
    deliveries: history.rate(rateSeconds, (it) => it.counters.deliveries),
    commitMiddle: times("commit", 0.5), commitMost: times("commit", 0.99),
    syncMiddle: times("sync", 0.5), syncMost: times("sync", 0.99),
  };
}

function lagText(histogram) {
  if (!histogram) return "Not known yet.";
  const all = countOf(histogram);
  if (all === 0) return "Nothing was delivered in the last minute.";
  return `Half within ${duration(quantileOf(histogram, 0.5))} (p50), 99 of 100 within `
    + `${duration(quantileOf(histogram, 0.99))} (p99), of ${count(all)} in the last minute.`;
}

/** Both in seconds of the relay's clock; empty if either is not known. */
export const uptimeText = (startedAt, wall) =>
  (startedAt === null || Number.isNaN(wall) ? "" : `· up for ${span(wall - startedAt)}`);
