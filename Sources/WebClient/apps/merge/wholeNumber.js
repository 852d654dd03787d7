import { int64, isNumber, numberText } from "../../changes/json.js";

const bound = 2n ** 60n;

/**
 * Returns the number rounded down and limited to ±2⁶⁰, so that it is the same on devices that count
 * in 64 bits; undefined if the value is not a number.
 *
 * Versions may come from third-party programs, which may write 1.5e3, 0.5 or more digits than a
 * JavaScript number holds. So comparisons and sums use BigInt.
 *
 * @returns {bigint | undefined}
 */
export function wholeNumber(value) {
  const exact = int64(value);
  if (exact !== undefined) return within(exact);
  if (!isNumber(value)) return undefined;
  const near = Number(numberText(value));
  if (Math.abs(near) >= Number(bound)) return near > 0 ? bound : -bound;
  return BigInt(Math.floor(near));
}

/** Limits a whole number to ±2⁶⁰. */
export function within(number) {
  if (number > bound) return bound;
  return number < -bound ? -bound : number;
}
