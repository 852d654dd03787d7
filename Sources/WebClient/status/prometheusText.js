/**
 * Parses Prometheus' text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?$/;
const label = /^([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/;
const escapes = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

/**
 * Returns all samples by their name, in the order of the text: `name_bucket`, `name_sum` and
 * `name_count` separately. Throws an error that names the line if a line is malformed.
 *
 * @param {string} text
 * @returns {Map<string, {labels: Record<string, string>, value: number}[]>}
 */
export function samplesOf(text) {
  const samples = new Map();
  text.split("\n").forEach((line, index) => {
    const content = line.trim();
    if (content === "" || content.startsWith("#")) return;
    const sample = readSample(content);
    if (!sample) throw new Error(`line ${index + 1} is no metric`);
    if (!samples.has(sample.name)) samples.set(sample.name, []);
    samples.get(sample.name).push({ labels: sample.labels, value: sample.value });
  });
  return samples;
}

function readSample(line) {
  const parts = sampleLine.exec(line);
  if (!parts) return null;
  const labels = readLabels(parts[2] ?? "");
  const value = numberOf(parts[3]);
  return labels && value !== null ? { name: parts[1], labels, value } : null;
}

function readLabels(text) {
  const labels = {};
  let rest = text;
  while (rest !== "") {
    const match = label.exec(rest);
    if (!match) return null;
    labels[match[1]] = match[2].replace(/\\[\\"n]/g, (escape) => escapes[escape]);
    rest = rest.slice(match[0].length);
  }
  return labels;
}

/** Accepts `+Inf` and `NaN`, which are numbers in this format; returns null for anything else. */
function numberOf(word) {
  if (/^[+-]?Inf$/i.test(word)) return word.startsWith("-") ? -Infinity : Infinity;
  if (word === "NaN") return NaN;
  const value = Number(word);
  return Number.isNaN(value) ? null : value;
}
