import { tCount } from "../language/language.js";

const units = ["KiB", "MiB", "GiB"];

/** Formats a number of bytes: `512 bytes`, `2.8 MiB`. @param {number} bytes */
export function sizeText(bytes) {
  if (bytes < 1_024) return tCount(bytes, "{count} byte", "{count} bytes");
  let value = bytes / 1_024;
  let unit = 0;
  // 1,023.96 KiB would be written as 1024.0 KiB.
  while (unit < units.length - 1 && value >= 1_023.95) {
    value /= 1_024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}
