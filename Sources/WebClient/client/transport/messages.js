import { readToken } from "../changeToken.js";
import { readRecord } from "../record.js";
import { readRefusal } from "../refusal.js";
import { WireError } from "../wireError.js";

/**
 * Parsers of the relay's messages. They check a message as a whole, and throw a `WireError` if it
 * is not in the protocol's format.
 */

/** @returns {{since: string | null, token: string, more: boolean, changes: object[],
 *   lostTags: [number, number][]}} */
export function readPage(value) {
  const since = value?.since ?? null;
  if (!readToken(value?.token) || !Array.isArray(value.changes) || (since && !readToken(since))) {
    throw new WireError("invalid page of changes");
  }
  return { since, token: value.token, more: value.more === true,
    changes: value.changes.map(readRecord), lostTags: readLostTags(value.lostTags ?? []) };
}

function readLostTags(ranges) {
  const isRange = (range) => Array.isArray(range) && range.length === 2
    && range.every(Number.isSafeInteger);
  if (!Array.isArray(ranges) || !ranges.every(isRange)) {
    throw new WireError("invalid lost tags");
  }
  return ranges;
}

/** @returns {{since: string, token: string, results: object[]}} */
export function readAnswer(value) {
  if (!readToken(value?.since) || !readToken(value.token) || !Array.isArray(value.results)) {
    throw new WireError("invalid answer to a batch");
  }
  return { since: value.since, token: value.token, results: value.results.map(readResult) };
}

function readResult(result) {
  const name = result?.name;
  if (typeof name !== "string") throw new WireError("a result names no record");
  if (result.conflict) return { name, conflict: readRecord(result.conflict) };
  if (result.error) return { name, error: readRefusal(result.error) };
  if (!Number.isSafeInteger(result.tag)) throw new WireError("a result has no tag");
  return { name, tag: result.tag };
}

/** The relay chooses the numbers; the caller uses only plausible ones. */
export function readTime(value) {
  if (!Number.isSafeInteger(value)) throw new WireError("invalid time");
  return value;
}
