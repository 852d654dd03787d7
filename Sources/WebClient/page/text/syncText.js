import { isReadOnly } from "./scopeText.js";
import { ago, plural } from "./time.js";

const transportTexts = {
  websocket: "live", events: "live, by events", "long-poll": "live, by long-poll",
  poll: "by asking every 30 seconds",
};

/**
 * Returns the texts of the sync status for a person. `tone` selects the indicator: `good`, `busy`,
 * `away` or `bad`; `short` is always shown; `lines` have details; `canSync` is true if a manual
 * sync may help, by a button with the text `again`.
 *
 * @param {object} status value of `lockstep.status`
 * @param {number} now relay time
 * @returns {{tone: string, short: string, lines: string[], canSync: boolean, again: string}}
 */
export function syncText(status, now, minutesAhead) {
  const { tone, short, lines = [], canSync = true } = statusTexts[status.state](status, now,
    minutesAhead);
  const { parkedCount, setAsideCount, unreadableCount } = status;
  const again = parkedCount + setAsideCount + unreadableCount > 0 ? "Try again" : "Sync now";
  return { tone, short, canSync, again, lines: [...lines, ...others(status, now, minutesAhead)] };
}

const statusTexts = {
  needsPairing: ({ reason }) =>
    ({ tone: "away", short: "Not paired", lines: sentences(reason), canSync: false }),

  syncing: ({ waiting }) => ({
    tone: "busy", short: "Syncing",
    lines: waiting > 0 ? [`${plural(waiting, "change")} on the way.`] : [],
  }),

  inSync: ({ transport }) => ({
    tone: "good", short: "In sync",
    lines: ["All changes are on the relay, and all of its changes are here.",
      ...(transport ? [`Connected, ${transportTexts[transport] ?? transport}.`] : [])],
  }),

  needsPerson: (status) => ({ tone: "bad", short: needs(status) }),

  offline: (status, now, minutesAhead) => ({
    tone: "away", short: status.waiting > 0 ? `Offline, ${status.waiting} waiting` : "Offline",
    lines: [
      status.since === null
        ? "No connection." : `The connection was lost ${at(status.since, now, minutesAhead)}.`,
      ...sentences(status.reason), kept(status),
    ],
  }),

  plan: ({ reason }) => ({
    tone: "bad", short: "Not in the plan",
    lines: [...sentences(reason), "The relay's owner can change that. Nothing here is lost."],
  }),

  failed: ({ reason }) => ({ tone: "bad", short: "Sync failed", lines: sentences(reason) }),

  closed: ({ reason }) => ({
    tone: "bad", short: "Closed here", canSync: false,
    lines: [...sentences(reason), "Reload the page to go on."],
  }),
};

/** Returns what becomes of changes without a connection. Those out of the scope are told of apart,
 * and are not sent. */
function kept({ waiting, scope, zonesOutOfScope }) {
  if (waiting > 0) {
    const words = `${plural(waiting, "change")} kept here`;
    return zonesOutOfScope.length > 0 ? `${words}.`
      : `${words}, and sent once there is a connection.`;
  }
  return isReadOnly(scope) ? "What your other devices do shows once there is a connection."
    : "What you do is kept here, and sent once there is a connection.";
}

function needs({ askingCount, parkedCount, unreadableCount, lockedZones, waiting }) {
  if (lockedZones.length > 0) return "Keys missing";
  if (askingCount > 0) return "Waits for you";
  if (parkedCount > 0) return `${parkedCount} refused`;
  if (unreadableCount > 0) return `${unreadableCount} not readable`;
  return waiting > 0 ? `${waiting} held back` : "Waits for you";
}

/** Returns further facts, in addition to the state. */
function others(status, now, minutesAhead) {
  const { askingCount, parked, parkedCount, setAsideCount, unreadableCount } = status;
  const { lockedZones, blockedZones, zonesOutOfScope, lastSync, state } = status;
  const lines = [];
  if (askingCount > 0) {
    lines.push(`${plural(askingCount, "habit")} changed in two places: choose under Habits.`);
  }
  if (parkedCount > 0) {
    lines.push(`The relay refused ${plural(parkedCount, "change")}: ${reasons(parked)} `
      + "Kept here; “Try again” sends what was refused once more.");
  }
  if (lockedZones.length > 0) {
    lines.push(`${lockText(lockedZones)} ${lockAdvice}`);
  } else if (unreadableCount > 0) {
    lines.push(`${plural(unreadableCount, "record")} on the relay cannot be opened with this `
      + "browser's keys: left as they are, and changes to them wait here. If “Try again” does not "
      + "help, sign out, and pair this browser again.");
  }
  if (setAsideCount > 0) {
    lines.push("Something between this browser and the relay refuses large requests (status 413): "
      + `${plural(setAsideCount, "change")} kept here, and tried again within the hour.`);
  }
  if (blockedZones.length > 0) {
    lines.push(`The account's plan leaves out ${blockedZones.join(", ")}.`);
  }
  if (zonesOutOfScope.length > 0) {
    lines.push(`This browser was not paired to change ${zonesOutOfScope.join(", ")}: what waits `
      + "there is kept here. Remove this browser on another device, and pair it again.");
  }
  if (lastSync !== null && state !== "inSync") {
    lines.push(`Last in sync ${at(lastSync, now, minutesAhead)}.`);
  }
  if (!status.isDurable) {
    lines.push(`Nothing outlives this tab: ${sentence(status.storeReason ?? "no store")}`);
  }
  return lines;
}

/** Returns the text about zones that are sealed with keys that this browser does not have. */
export function lockText(zones) {
  const are = zones.length === 1 ? "is" : "are";
  return `${zones.join(", ")} ${are} sealed, and this browser does not have the keys: what it `
    + "shows is old, and cannot be changed here.";
}

const lockAdvice = "Under Devices, type a whole code of a device that has them, or the recovery "
  + "phrase.";

/** Returns the text above a view whose changes are not sent; empty if they are. */
export function planText({ blockedZones, lockedZones }, zone) {
  if (lockedZones.includes(zone)) {
    return `${lockText([zone])} ${lockAdvice}`;
  }
  if (!blockedZones.includes(zone)) return "";
  return `${zone} is not in the account's plan: what you change here stays in this browser, and `
    + "goes out once the relay's owner has added it.";
}

const reasons = (parked) =>
  [...new Set(parked.map(({ refusal }) => sentence(refusal.detail)))].slice(0, 3).join(" ");

function at(instant, now, minutesAhead) {
  const words = ago(instant, now, minutesAhead);
  return /^\d\d:/.test(words) ? `at ${words}` : words;
}

const sentences = (reason) => (reason ? [sentence(reason)] : []);

/** Adds a capital and a full stop if they are missing. */
function sentence(text) {
  const [first = "", ...rest] = text.trim();
  const words = first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(words) ? words : `${words}.`;
}

/** Returns the reason of a failure with the next step, for a person. */
export function errorText(error) {
  const known = Object.hasOwn(errorTexts, error.code ?? "") ? errorTexts[error.code] : null;
  if (known) return known;
  if (error.name === "CallError") {
    return "The relay gave no answer. Look at your connection, then try again.";
  }
  const [first = "", ...rest] = String(error.message);
  const text = first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const errorTexts = {
  badPairingCode: "That code is wrong, used or too old. Ask for a new one where it came from: at "
    + "the other device, or at the relay's owner.",
  registrationClosed:
    "This relay makes no accounts by itself. Ask its owner for a pairing code.",
  tooManyRequests: "The relay asks to wait a moment. Try again in a minute.",
  outOfScope: "This browser was paired for a part of the account, and may not do that. Use a "
    + "device with the whole account.",
  tooManyDevices: "The account has as many devices as it may have. Remove one first.",
};
