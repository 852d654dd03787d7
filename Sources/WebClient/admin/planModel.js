import { limits } from "./limits.js";

/** Zones of the apps that come with a relay. */
export const knownZones = Object.freeze(["Timer", "Clipboard", "Memos", "Habits", "Vault"]);

const mebibyte = 2 ** 20;

/** Returns the texts of a form for a plan. */
export function planFields({ zones, recordBytes, records }) {
  const named = zones ?? [];
  return {
    isLimited: zones !== null,
    known: knownZones.filter((zone) => named.includes(zone)),
    others: named.filter((zone) => !knownZones.includes(zone)).join("\n"),
    mebibytes: recordBytes === null ? "" : decimal(recordBytes / mebibyte),
    records: records === null ? "" : String(records),
  };
}

/**
 * Returns the plan of a form, or the problem of a field as a sentence.
 *
 * @param {ReturnType<typeof planFields>} fields `others`: one zone a line
 * @returns {{plan: object} | {problem: string, field: string}}
 */
export function planOfFields({ isLimited, known, others, mebibytes, records }) {
  const names = others.split("\n").map((line) => line.trim()).filter(Boolean);
  const zones = isLimited ? [...new Set([...known, ...names])] : null;
  if (zones !== null && zones.length > limits.planZones) {
    return { field: "others", problem: `A plan names at most ${limits.planZones} zones.` };
  }
  const room = limitOf(mebibytes, mebibyte);
  if (room === undefined) {
    return { field: "mebibytes",
      problem: "The room is a number of MiB, such as 50 or 0.5; leave it empty for the relay's own "
        + "limit." };
  }
  const count = limitOf(records, 1);
  if (count === undefined) {
    return { field: "records",
      problem: "The records are a whole number; leave it empty for the relay's own limit." };
  }
  return { plan: {
    zones, ...room !== null && { recordBytes: room }, ...count !== null && { records: count },
  } };
}

/** Returns a number without an exponent: a byte is some millionths of a MiB, in 20 digits. */
const decimal = (value) => value.toFixed(20).replace(/\.?0+$/, "");

/** Returns a whole number of units; null for an empty text, undefined for what is no limit. */
function limitOf(typed, unit) {
  const words = typed.trim().replaceAll(",", "");
  if (words === "") return null;
  if (!(unit === 1 ? /^\d{1,16}$/ : /^\d{1,16}(?:\.\d{1,20})?$/).test(words)) return undefined;
  const value = Math.round(Number(words) * unit);
  return value <= limits.planLimit ? value : undefined;
}
