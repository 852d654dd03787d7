/**
 * Reads Prometheus' text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/).
 */

const sampleLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+-?\d+)?$/;
const label = /^([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"(?:,|$)/;
const escapes = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

/**
 * All samples by their name, in the order of the text: `name_bucket`, `name_sum` and `name_count`
 * each on their own. Throws where a line is none of the format's, and says which.
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

/** `+Inf` and `NaN` are numbers of the format; null where the word is none. */
function numberOf(word) {
  if (/^[+-]?Inf$/i.test(word)) return word.startsWith("-") ? -Infinity : Infinity;
  if (word === "NaN") return NaN;
  const value = Number(word);
  return Number.isNaN(value) ? null : value;
}
