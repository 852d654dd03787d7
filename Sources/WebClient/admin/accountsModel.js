import { byteCount, hasLoneSurrogate } from "../json/utf8.js";
import { ago } from "../page/text/time.js";
import { bytes, count } from "../status/format.js";
import { amount } from "./amount.js";
import { limits } from "./limits.js";

/** Orders of the list, the first one first. */
export const orders = Object.freeze([
  { key: "name", words: "Name" }, { key: "room", words: "Room taken" },
  { key: "seen", words: "Last seen" }, { key: "made", words: "Newest" },
]);

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

const compare = {
  // Accounts without a name stand last.
  name: (one, other) => (one.label === "") - (other.label === "")
    || collator.compare(one.label, other.label),
  room: (one, other) => roomOf(other) - roomOf(one),
  seen: (one, other) => (other.lastSeen ?? 0) - (one.lastSeen ?? 0),
  made: (one, other) => other.madeAt - one.madeAt,
};

/** Bytes that an account takes in the store. */
export const roomOf = ({ recordBytes, chunkBytes }) => recordBytes + chunkBytes;

/** Returns the account with figures that are numbers, whatever the relay has sent. */
export function accountOf(value) {
  const number = (name) => (Number.isFinite(value?.[name]) ? value[name] : 0);
  const label = typeof value?.label === "string" ? value.label : "";
  return {
    id: String(value?.accountID ?? ""), label, plan: planOf(value?.plan),
    madeAt: number("madeAt"), devices: number("devices"), records: number("records"),
    recordBytes: number("recordBytes"), chunkBytes: number("chunkBytes"),
    lastSeen: Number.isFinite(value?.lastSeen) ? value.lastSeen : null,
  };
}

function planOf(plan) {
  const limit = (name) => (Number.isFinite(plan?.[name]) ? plan[name] : null);
  const zones = Array.isArray(plan?.zones)
    ? plan.zones.filter((zone) => typeof zone === "string") : null;
  return { zones, recordBytes: limit("recordBytes"), records: limit("records") };
}

/** Returns the name of an account in a sentence. */
export const nameOf = ({ id, label }) => (label === "" ? `Account ${id}` : label);

/**
 * Returns the rows of one page of the list.
 *
 * @param {object[]} accounts
 * @param {{query: string, order: string, page: number}} choice `page` from 0
 */
export function accountPage(accounts, { query, order, page }) {
  const wanted = query.trim().toLocaleLowerCase("en");
  const found = accounts.filter(({ id, label }) =>
    label.toLocaleLowerCase("en").includes(wanted) || id.includes(wanted));
  found.sort((one, other) => compare[order](one, other) || (one.id < other.id ? -1 : 1));
  const pages = Math.max(1, Math.ceil(found.length / limits.accountsShown));
  const shown = Math.min(Math.max(0, page), pages - 1);
  const first = shown * limits.accountsShown;
  return {
    rows: found.slice(first, first + limits.accountsShown), count: found.length, page: shown,
    pages, first,
  };
}

/** Returns the place of a page in the list: `51–100 of 2,000 accounts`, `1–50 of 341 found, of
 * 2,000 accounts`. @param {number} total all accounts, found or not */
export function rangeText({ rows, count: found, first }, total) {
  const all = amount(total, "account");
  const last = first + rows.length;
  const place = rows.length === found ? "" : `${count(first + 1)}–${count(last)} of `;
  if (found === total) return place + all;
  return `${place}${count(found)} ${place === "" ? "" : "found, "}of ${all}`;
}

/** Returns the texts of an account's row. */
export function rowOf(account, now, minutesAhead) {
  return {
    id: account.id, name: nameOf(account), devices: count(account.devices),
    seen: seenText(account.lastSeen, now, minutesAhead), room: bytes(roomOf(account)),
    files: account.chunkBytes === 0 ? "–" : bytes(account.chunkBytes),
    records: count(account.records), plan: planText(account.plan),
  };
}

/** Returns when a device was last seen; a dash if there was none. */
export function seenText(instant, now, minutesAhead) {
  if (instant === null) return "never";
  return ago(instant, now, minutesAhead);
}

/** Returns a plan in short: `All zones`, `Memos, Timer · 50 MiB`. */
export function planText({ zones, recordBytes, records }) {
  const parts = [zones === null ? "All zones" : zones.length === 0 ? "No zone" : zones.join(", ")];
  if (recordBytes !== null) parts.push(`at most ${bytes(recordBytes)}`);
  if (records !== null) parts.push(`at most ${amount(records, "record")}`);
  return parts.join(" · ");
}

/**
 * Returns the reason why an account cannot have this name, as a sentence; null if it can.
 *
 * @param {object[]} accounts those that there are
 */
export function labelProblem(label, accounts) {
  if (label === "") return "Give the account a name, such as that of the person who gets it.";
  if (byteCount(label) > limits.labelBytes) {
    return `That name is too long: at most ${limits.labelBytes} letters, fewer with accents.`;
  }
  if (/\p{Cc}/u.test(label) || hasLoneSurrogate(label)) {
    return "A name has letters alone, and no line break or tab.";
  }
  return accounts.some((it) => it.label === label)
    ? `There is an account “${label}” already. Give this one another name, or open that one to `
      + "make a new code for it." : null;
}
