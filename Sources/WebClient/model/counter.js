import { integer, isNumber, member, members, setting } from "../json/jsonValue.js";
import { within, wholeNumber } from "./mergeParts.js";

/** Values of fields with the rule `counter`: `{"device": [up, down]}`. A device changes only its
 * own part, so nothing is counted twice, and nothing is lost. */

/** Returns the sum of all that was counted; 0 for a value of another kind. */
export function counterValue(value) {
  const sum = members(value).reduce((all, [, parts]) => {
    const [up, down] = partsOf(parts);
    return all + up - down;
  }, 0n);
  return Number(within(sum));
}

/**
 * Returns the counter after this device has counted `by` more, or less if `by` is negative.
 *
 * @param {any} value undefined if there is no counter yet
 * @param {string} device id of this device
 * @param {number} by a whole number
 */
export function counterAdded(value, device, by) {
  if (!Number.isSafeInteger(by)) throw new TypeError("a counter counts whole numbers");
  const [up, down] = partsOf(member(value, device));
  const change = BigInt(by);
  const parts = change > 0n ? [up + change, down] : [up, down - change];
  return setting(value, { [device]: parts.map((part) => integer(within(part))) });
}

function partsOf(parts) {
  const isCount = Array.isArray(parts) && parts.length === 2 && parts.every(isNumber);
  if (!isCount) return [0n, 0n];
  // Another program may have written a number below zero, which nobody counts.
  return parts.map(wholeNumber).map((part) => (part > 0n ? part : 0n));
}
