import { bucketsOf, placeOf, quantileOf } from "./histogram.js";
import { bars, largest, linePath } from "./scales.js";
import { duration } from "./format.js";

/** Draws into the page's `svg` elements. The page also shows the same data as text. */

const namespace = "http://www.w3.org/2000/svg";

function shape(name, attributes, text) {
  const element = document.createElementNS(namespace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * Draws lines over time; the first is the main one.
 *
 * @param {SVGElement} svg
 * @param {(number | null)[][]} lines each from the oldest to the newest, in shares of the height
 * @param {number} places number of values that fit side by side
 */
export function drawLines(svg, lines, places) {
  const [width, height] = [300, 60];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  const frame = { width, height, places };
  svg.replaceChildren(...lines.map((values, index) =>
    shape("path", { class: index === 0 ? "first" : "second", d: linePath(values, frame) })));
}

/** Returns a bar for a share of the whole, from 0 to 1. */
export function shareBar(share) {
  const svg = shape("svg", {
    viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true",
  });
  const width = share > 0 ? Math.max(1, share * 100) : 0;
  svg.append(
    shape("rect", { class: "track", width: 100, height: 8 }),
    shape("rect", { width, height: 8 }));
  return svg;
}

/** Bounds that are labelled below the bars, and those for a narrow page. */
const named = [0.0001, 0.001, 0.01, 0.1, 1, 10];
const namedNarrow = [0.0001, 0.01, 1];
const narrow = 420;

/** @param {SVGElement} svg @param {object | null} histogram */
export function drawHistogram(svg, histogram) {
  const { width, height } = svg.getBoundingClientRect();
  if (width === 0) return;
  // In CSS pixels, so that text is not stretched.
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const [top, bottom] = [18, 20];
  const frame = { width, height: height - top - bottom };
  const base = shape("line", {
    class: "base", x1: 0, x2: width, y1: height - bottom, y2: height - bottom,
  });
  if (!histogram) {
    svg.replaceChildren(base);
    return;
  }
  const values = bucketsOf(histogram);
  const shapes = bars(values, { ...frame, gap: 3, ceiling: Math.max(1, largest(values)) })
    .filter((bar) => bar.height > 0)
    .map((bar) => shape("rect", { ...bar, y: bar.y + top, rx: 1 }));
  const each = width / values.length;
  const shown = width < narrow ? namedNarrow : named;
  const words = histogram.bounds.flatMap((bound, index) => (!shown.includes(bound) ? [] : [
    shape("text", { x: (index + 1) * each, y: height - 5, "text-anchor": "middle" },
      duration(bound)),
  ]));
  svg.replaceChildren(base, ...shapes, ...words, ...marks(histogram, { each, height, bottom }));
}

/** Draws marks at the median and at the 99th percentile. */
function marks(histogram, { each, height, bottom }) {
  const places = [[0.5, "p50"], [0.99, "p99"]].flatMap(([share, name]) => {
    const value = quantileOf(histogram, share);
    return value === null ? [] : [{ name, x: placeOf(histogram, value) * each }];
  });
  const areClose = places.length === 2 && places[1].x - places[0].x < 40;
  return places.flatMap(({ name, x }, index) => [
    shape("line", { class: "mark", x1: x, x2: x, y1: 16, y2: height - bottom }),
    // Side by side if they would overlap.
    shape("text", {
      class: "marked", x: areClose ? x + (index === 0 ? -4 : 4) : x, y: 12,
      "text-anchor": areClose ? ["end", "start"][index] : "middle",
    }, name),
  ]);
}
