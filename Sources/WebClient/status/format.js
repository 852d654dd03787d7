/** Formats figures for people. An unknown value is a dash. */

const unknown = "–";
const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number | null} value */
export const count = (value) => (value === null ? unknown : plain.format(value));

/** Formats with few digits: 0, 0.04, 1.3, 27, 1,204. */
export function few(value) {
  if (value === null) return unknown;
  if (value === 0) return "0";
  if (value < 0.01) return "< 0.01";
  if (value < 9.95) return String(Number(value.toFixed(value < 1 ? 2 : 1)));
  return plain.format(value);
}

/** @param {number | null} seconds */
export function duration(seconds) {
  if (seconds === null) return unknown;
  if (seconds < 0.001) return `${few(seconds * 1e6)} µs`;
  return seconds < 1 ? `${few(seconds * 1e3)} ms` : `${few(seconds)} s`;
}

/** @param {number | null} value */
export function bytes(value) {
  if (value === null) return unknown;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = value < 1 ? 0 : Math.min(4, Math.floor(Math.log2(value) / 10));
  return `${power === 0 ? count(value) : few(value / 1024 ** power)} ${units[power]}`;
}

/** @param {number | null} share from 0 on */
export const percent = (share) => (share === null ? unknown : `${few(share * 100)} %`);

/** Formats a duration in its two largest units: 14 s, 3 min 5 s, 2 h 10 min, 4 d 1 h. */
export function span(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const units = [["d", 86_400], ["h", 3_600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => whole >= size);
  if (first < 0) return "0 s";
  let rest = whole;
  const parts = units.slice(first, first + 2).map(([unit, size]) => {
    const part = Math.floor(rest / size);
    rest -= part * size;
    return part === 0 ? "" : `${part} ${unit}`;
  });
  return parts.join(" ").trim();
}

/** `batchMismatch` as `batch mismatch`: a refusal code in readable form. */
export const reason = (code) =>
  code.replace(/([A-Z]+)/g, " $1").toLowerCase().replace(/\bjson\b/, "JSON")
    .replace(/\buri\b/, "URI");
