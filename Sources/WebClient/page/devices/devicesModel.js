import { apps } from "../../apps/appCatalog.js";
import { currentLanguage, t, tCount } from "../language/language.js";
import { limits } from "../limits.js";
import { scopeText } from "../text/scopeText.js";
import { enumerated, joinSentences, listed, quoted } from "../text/sentences.js";
import { ago } from "../text/time.js";

/** Returns the account's devices as rows: this one first, then the connected ones, then by last
 * seen. `label` is the name, and the device's place among those of one name. `devices`: in the
 * order in which they joined. */
export function deviceRows(devices, ownID, now, minutesAhead) {
  const rank = ({ deviceID, connected }) => (deviceID === ownID ? 0 : connected ? 1 : 2);
  return devices.map((device, place) => ({ ...device, place }))
    .sort((one, other) => rank(one) - rank(other) || (other.lastSeen ?? 0) - (one.lastSeen ?? 0))
    .map(({ deviceID, deviceName, platform, connected = false, lastSeen, scope, place }) => ({
      key: deviceID, name: deviceName, isOwn: deviceID === ownID, isConnected: connected,
      label: labelOf(devices, place),
      about: [seen(connected, lastSeen, now, minutesAhead), platform,
        joined(place, devices.length)].filter(Boolean).join(" · "),
      scope: scopeText(scope),
    }));
}

/** Returns the name of a device, with its place among those of that name: `phone (2 of 3)`. */
function labelOf(devices, place) {
  const { deviceName: name } = devices[place];
  const before = devices.slice(0, place + 1).filter((it) => it.deviceName === name).length;
  const all = devices.filter((it) => it.deviceName === name).length;
  return all === 1 ? name : t("{name} ({place} of {count})", { name, place: before, count: all });
}

/** Returns a device's place in the order of joining; empty for the only device. */
function joined(place, count) {
  if (count === 1) return "";
  if (place === 0) return t("joined first");
  return place === count - 1 ? t("joined last") : t("joined {place}", { place: nth(place) });
}

/** Returns a place that is neither the first nor the last: in English as an ordinal. */
function nth(place) {
  const number = place + 1;
  if (currentLanguage() !== "en") return number;
  const isTeen = number % 100 >= 11 && number % 100 <= 13;
  return `${number}${isTeen ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10] ?? "th"}`;
}

/**
 * Returns a name that no other device has: `Chrome on Linux 2` if there is a `Chrome on Linux`.
 *
 * @param {string} name
 * @param {string[]} taken names of the other devices
 */
export function freeName(name, taken) {
  const isFree = (it) => !taken.includes(it);
  if (isFree(name)) return name;
  let number = 2;
  while (!isFree(`${name} ${number}`)) number += 1;
  return `${name} ${number}`;
}

/** Returns the devices that are on a list, and were not on a former one. */
export const newcomers = (devices, former) =>
  devices.filter(({ deviceID }) => !former.includes(deviceID));

/**
 * Returns how far the devices are that have used a shown code: `joined`; `opening`: a device of the
 * whole account has not made its key known, which it does with the keys of the code; `limited`: one
 * for a part of the account makes no key known, so that nobody else learns when it is ready;
 * `gone`: none of them is on the account's list any more.
 *
 * @param {{deviceID: string, scope?: object}[]} devices those that are still there
 * @param {{carriesKeys: boolean, hasKey: (deviceID: string) => boolean}} code `carriesKeys`: the
 *   code has a second half
 */
export function arrivalState(devices, { carriesKeys, hasKey }) {
  if (devices.length === 0) return "gone";
  if (!carriesKeys) return "joined";
  const isLimited = ({ scope }) => (scope ?? null) !== null;
  if (devices.some((it) => !isLimited(it) && !hasKey(it.deviceID))) return "opening";
  return devices.some(isLimited) ? "limited" : "joined";
}

/**
 * Returns the sentences about devices that have used a shown code.
 *
 * @param {{deviceName: string}[]} devices
 * @param {string} state of `arrivalState`
 * @param {boolean} hasKeys this browser shows check words
 */
export function arrivalText(devices, state, hasKeys) {
  const names = listed(devices.map(({ deviceName }) => quoted(deviceName)));
  switch (state) {
    case "opening":
      return t("The code was used by {names}. The account is being opened there.", { names });
    case "gone":
      return t("The account was not opened by {names}. Show a new code, and try again.",
        { names });
    case "joined":
      return joinSentences([t("{names} joined. The code is used.", { names }),
        hasKeys && t("Compare the check words below with those that it shows.")]);
    default: return t("The code was used by {names}.", { names });
  }
}

/** Empty if the relay has not answered since the page was opened. */
function seen(isConnected, lastSeen, now, minutesAhead) {
  if (isConnected) return t("Connected now");
  return lastSeen === undefined ? ""
    : t("Seen {when}", { when: ago(lastSeen, now, minutesAhead) });
}

/** Returns the question before a device is removed. `row`: as `deviceRows` has it; `hasKeys`: this
 * browser has the account's keys. */
export function removalQuestion({ label, about }, hasKeys) {
  const inSentence = currentLanguage() === "en"
    ? about.replace(/^[A-Z]/, (it) => it.toLowerCase()) : about;
  return {
    title: t("Remove “{name}”?", { name: label }), yes: t("Remove"),
    words: joinSentences([t("It is not this browser: {about}.", { about: inSentence }),
      t("It is cut off at once and gets nothing new. What it already holds it keeps."),
      hasKeys && t("Your other devices get new keys first; a recovery phrase that was written down "
        + "before is then void.")]),
  };
}

/**
 * Returns the text before the account's only device is signed out.
 *
 * @param {boolean} hasKeys this browser has the account's keys, and so their phrase
 * @param {{unsent: number, isOffline: boolean}} state `unsent`: changes that only this browser has
 */
export function lastDeviceWords(hasKeys, { unsent, isOffline }) {
  const words = [t("No other device has this account. All that is kept here goes from this "
    + "browser, and nobody can read the account until a device joins it again.")];
  words.push(hasKeys
    ? t("For that you need two things: a pairing code of the relay's owner, and the recovery "
      + "phrase. Without the phrase, nobody can open what is on the relay.")
    : t("For that you need a pairing code of the relay's owner."));
  if (unsent > 0) {
    words.push(tCount(unsent, "{count} change that the relay does not have would be lost.",
      "{count} changes that the relay does not have would be lost."));
  }
  if (isOffline) words.push(t("Without a connection this browser stays in the account's list."));
  return words;
}

/** Returns the hint beside the sign-out of the account's only device. `hasKeys`: as in
 * `lastDeviceWords`. */
export const onlyDeviceText = (hasKeys) => (hasKeys
  ? t("This is the account's only device. Without it, a code of the relay's owner and the recovery "
    + "phrase bring the account back.")
  : t("This is the account's only device. Without it, a code of the relay's owner brings the "
    + "account back."));

/** Returns the text after a removal, which makes new keys. */
export const newPhraseText = () => t("The recovery phrase is another one now; what was written "
  + "down before opens nothing new. Press “Show the recovery phrase”, and write the words down.");

/** Returns the text about devices that did not get new keys; null if there are none. */
export function pairAgainText(devices) {
  if (devices.length === 0) return null;
  const names = enumerated(devices.map(({ deviceName }) => quoted(deviceName)));
  return t("{names} could not get the account's new keys, and cannot read what is written from now "
    + "on. Sign out there, and pair again with a code of this browser.", { names });
}

/** Returns the remaining lifetime of a code, as text. */
export function codeLifetime(expiresAt, now) {
  const minutes = Math.ceil((expiresAt - now) / 60_000);
  if (minutes <= 0) return t("This code is too old. Show a new one.");
  return tCount(minutes, "For one device, within a minute.",
    "For one device, within {count} minutes.");
}

/** Lifetimes that a person may choose for a code; the first one is the relay's own. */
export const codeLifetimes = Object.freeze([
  { seconds: 0, minutes: 10 }, { seconds: 300, minutes: 5 }, { seconds: 60, minutes: 1 },
]);

/**
 * Returns the zones to which a code may be limited: at most those of this browser, and otherwise
 * those of the apps, of the vault, and of the records of other programs. The zone of the account's
 * own keys is for no device alone.
 *
 * @param {object | null} scope this browser's scope
 * @param {string[]} used zones of the account's records, in any order
 */
export function codeZones(scope, used) {
  if (scope?.zones) return scope.zones;
  const own = apps.map(({ zone }) => zone);
  const others = [...new Set(used)].filter((zone) => ![...own, "Keys"].includes(zone));
  return [...own, ...others.sort()]
    .slice(0, limits.zonesOfCode);
}

/**
 * Returns the options of `issueCode` for a person's choice; null if no app is chosen. What the
 * person does not limit is left out, so that it is as this browser's.
 *
 * @param {{zones: string[] | null, isReadOnly: boolean, seconds: number}} choice `zones`: null for
 *   all; `seconds`: 0 for the relay's own lifetime of a code
 */
export function codeOptions({ zones, isReadOnly, seconds }) {
  if (zones?.length === 0) return null;
  return {
    ...zones && { zones }, ...isReadOnly && { access: "read" },
    ...seconds > 0 && { expiresIn: seconds },
  };
}
