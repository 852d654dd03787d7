import { currentLanguage, t, tCount } from "../language/language.js";
import { reasonText } from "./errorText.js";
import { isReadOnly } from "./scopeText.js";
import { enumerated, joinSentences, sentence, zoneText } from "./sentences.js";
import { ago } from "./time.js";

const transportTexts = {
  websocket: () => t("Connected, live."), events: () => t("Connected, live, by events."),
  "long-poll": () => t("Connected, live, by long-poll."),
  poll: () => t("Connected, by asking every 30 seconds."),
};

function transportText(transport) {
  if (!transport) return null;
  return Object.hasOwn(transportTexts, transport) ? transportTexts[transport]()
    : t("Connected, {transport}.", { transport });
}

/**
 * Returns the texts of the sync status for a person. `tone` selects the indicator: `good`, `busy`,
 * `away` or `bad`; `short` is always shown; `lines` have details; `canSync` is true if a manual
 * sync may help, by a button with the text `again`.
 *
 * @param {object} status value of `lockstep.status`
 * @param {number} now relay time
 * @returns {{tone: string, short: string, lines: string[], canSync: boolean, again: string,
 *   relay?: string}} `relay`: address of the relay where the account lives, if this page
 *   cannot go there by itself
 */
export function syncText(status, now, minutesAhead) {
  const { tone, short, lines = [], canSync = true } = statusTexts[status.state](status, now,
    minutesAhead);
  const { parkedCount, setAsideCount, unreadableCount } = status;
  const again = parkedCount + setAsideCount + unreadableCount > 0 ? t("Try again") : t("Sync now");
  const relay = status.reasonCode === "accountMoved" ? status.relay ?? null : null;
  return { tone, short, canSync, again, ...relay !== null && { relay },
    lines: [...lines, ...others(status, now, minutesAhead)].filter(Boolean) };
}

const statusTexts = {
  needsPairing: (status) =>
    ({ tone: "away", short: t("Not paired"), lines: [reason(status)], canSync: false }),

  syncing: ({ waiting }) => ({
    tone: "busy", short: t("Syncing"),
    lines: [waiting > 0
      && tCount(waiting, "{count} change on the way.", "{count} changes on the way.")],
  }),

  inSync: ({ transport }) => ({
    tone: "good", short: t("In sync"),
    lines: [t("All changes are on the relay, and all of its changes are here."),
      transportText(transport)],
  }),

  needsPerson: (status) => ({ tone: "bad", short: needs(status) }),

  offline: (status, now, minutesAhead) => ({
    tone: "away", short: status.waiting > 0
      ? t("Offline, {count} waiting", { count: status.waiting }) : t("Offline"),
    lines: [lostText(status.since, now, minutesAhead), reason(status), kept(status)],
  }),

  plan: (status) => ({
    tone: "bad", short: t("Not in the plan"),
    lines: [reason(status), t("The relay's owner can change that. Nothing here is lost.")],
  }),

  failed: (status) => ({ tone: "bad", short: t("Sync failed"), lines: [reason(status)] }),

  closed: (status) => ({
    tone: "bad", short: t("Closed here"), canSync: false,
    lines: [reason(status), t("Reload the page to go on.")],
  }),
};

const reason = (status) => (status.reason
  ? reasonText({ code: status.reasonCode ?? null, detail: status.reason }) : null);

function lostText(since, now, minutesAhead) {
  if (since === null) return t("No connection.");
  const when = ago(since, now, minutesAhead);
  return isTime(when) ? t("The connection was lost at {time}.", { time: when })
    : t("The connection was lost {when}.", { when });
}

/** Returns what becomes of changes without a connection. Those out of the scope are told of apart,
 * and are not sent. */
function kept({ waiting, scope, zonesOutOfScope }) {
  if (waiting > 0) {
    return zonesOutOfScope.length > 0
      ? tCount(waiting, "{count} change kept here.", "{count} changes kept here.")
      : tCount(waiting, "{count} change kept here, and sent once there is a connection.",
        "{count} changes kept here, and sent once there is a connection.");
  }
  return isReadOnly(scope) ? t("What your other devices do shows once there is a connection.")
    : t("What you do is kept here, and sent once there is a connection.");
}

function needs({ askingCount, parkedCount, unreadableCount, lockedZones, waiting }) {
  if (lockedZones.length > 0) return t("Keys missing");
  if (askingCount > 0) return t("Waits for you");
  if (parkedCount > 0) return t("{count} refused", { count: parkedCount });
  if (unreadableCount > 0) return t("{count} not readable", { count: unreadableCount });
  return waiting > 0 ? t("{count} held back", { count: waiting }) : t("Waits for you");
}

/** Returns further facts, in addition to the state. */
function others(status, now, minutesAhead) {
  const { askingCount, parkedCount, setAsideCount, blockedZones, zonesOutOfScope } = status;
  return [
    askingCount > 0 && tCount(askingCount,
      "{count} habit changed in two places: choose under Habits.",
      "{count} habits changed in two places: choose under Habits."),
    parkedCount > 0 && refusedText(status),
    unopenedText(status),
    setAsideCount > 0 && tCount(setAsideCount,
      "Something between this browser and the relay refuses large requests (status 413): {count} "
        + "change kept here, and tried again within the hour.",
      "Something between this browser and the relay refuses large requests (status 413): {count} "
        + "changes kept here, and tried again within the hour."),
    blockedZones.length > 0 && t("The account's plan leaves out {zones}.",
      { zones: zonesText(blockedZones) }),
    zonesOutOfScope.length > 0 && t("This browser was not paired to change {zones}: what waits "
      + "there is kept here. Remove this browser on another device, and pair it again.",
    { zones: zonesText(zonesOutOfScope) }),
    lastText(status, now, minutesAhead),
    !status.isDurable && lossText(status),
  ];
}

const refusedText = ({ parked, parkedCount }) => tCount(parkedCount,
  "The relay refused {count} change: {reasons} Kept here; “Try again” sends what was refused "
    + "once more.",
  "The relay refused {count} changes: {reasons} Kept here; “Try again” sends what was refused "
    + "once more.", { reasons: reasons(parked) });

/** Returns the text about records that this browser cannot open; null if there are none. */
function unopenedText({ lockedZones, unreadableCount }) {
  if (lockedZones.length > 0) return joinSentences([lockText(lockedZones), lockAdvice()]);
  if (unreadableCount === 0) return null;
  return tCount(unreadableCount,
    "{count} record on the relay cannot be opened with this browser's keys: left as they are, and "
      + "changes to them wait here. If “Try again” does not help, sign out, and pair this browser "
      + "again.",
    "{count} records on the relay cannot be opened with this browser's keys: left as they are, and "
      + "changes to them wait here. If “Try again” does not help, sign out, and pair this browser "
      + "again.");
}

function lastText({ lastSync, state }, now, minutesAhead) {
  if (lastSync === null || state === "inSync") return null;
  const when = ago(lastSync, now, minutesAhead);
  return isTime(when) ? t("Last in sync at {time}.", { time: when })
    : t("Last in sync {when}.", { when });
}

/** The store's reason is the browser's own, in English. */
const lossText = ({ storeReason }) => (currentLanguage() === "en"
  ? t("Nothing outlives this tab: {reason}", { reason: sentence(storeReason ?? "no store") })
  : t("Nothing outlives this tab, since the browser keeps nothing for this page."));

/** Returns the text about zones that are sealed with keys that this browser does not have. */
export const lockText = (zones) => tCount(zones.length,
  "{zones} is sealed, and this browser does not have the keys: what it shows is old, and cannot be "
    + "changed here.",
  "{zones} are sealed, and this browser does not have the keys: what it shows is old, and cannot "
    + "be changed here.", { zones: zonesText(zones) });

const lockAdvice = () => t("Under Devices, type a whole code of a device that has them, or the "
  + "recovery phrase.");

/** Returns the text above a view whose changes are not sent; empty if they are. */
export function planText({ blockedZones, lockedZones }, zone) {
  if (lockedZones.includes(zone)) return joinSentences([lockText([zone]), lockAdvice()]);
  if (!blockedZones.includes(zone)) return "";
  return t("{zone} is not in the account's plan: what you change here stays in this browser, and "
    + "goes out once the relay's owner has added it.", { zone: zoneText(zone) });
}

const reasons = (parked) =>
  joinSentences([...new Set(parked.map(({ refusal }) => reasonText(refusal)))].slice(0, 3));

const zonesText = (zones) => enumerated(zones.map(zoneText));

/** True for a time of the day, before which English has a preposition. */
const isTime = (when) => /^\d\d:/.test(when);
