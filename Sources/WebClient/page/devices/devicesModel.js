import { apps } from "../../apps/appCatalog.js";
import { limits } from "../limits.js";
import { scopeText } from "../text/scopeText.js";
import { ago } from "../text/time.js";

/** Returns the account's devices as rows: this one first, then the connected ones, then by last
 * seen. */
export function deviceRows(devices, ownID, now, minutesAhead) {
  const rank = ({ deviceID, connected }) => (deviceID === ownID ? 0 : connected ? 1 : 2);
  return [...devices]
    .sort((one, other) => rank(one) - rank(other) || (other.lastSeen ?? 0) - (one.lastSeen ?? 0))
    .map(({ deviceID, deviceName, platform, connected = false, lastSeen, scope }) => ({
      key: deviceID, name: deviceName, isOwn: deviceID === ownID, isConnected: connected,
      about: [seen(connected, lastSeen, now, minutesAhead), platform].filter(Boolean).join(" · "),
      scope: scopeText(scope),
    }));
}

/** Empty if the relay has not answered since the page was opened. */
function seen(isConnected, lastSeen, now, minutesAhead) {
  if (isConnected) return "Connected now";
  return lastSeen === undefined ? "" : `Seen ${ago(lastSeen, now, minutesAhead)}`;
}

/** Returns the question before a device is removed. `hasKeys`: this browser has the account's
 * keys. */
export function removalQuestion(name, hasKeys) {
  const words = ["It is cut off at once and gets nothing new. What it already holds it keeps."];
  if (hasKeys) {
    words.push("Your other devices get new keys first; a recovery phrase that was written down "
      + "before is then void.");
  }
  return { title: `Remove “${name}”?`, yes: "Remove", words: words.join(" ") };
}

/** Returns the text about devices that did not get new keys; null if there are none. */
export function pairAgainText(devices) {
  if (devices.length === 0) return null;
  const names = devices.map(({ deviceName }) => `“${deviceName}”`).join(", ");
  return `${names} could not get the account's new keys, and cannot read what is written from `
    + "now on. Sign out there, and pair again with a code of this browser.";
}

/** Returns the remaining lifetime of a code, as text. */
export function codeLifetime(expiresAt, now) {
  const minutes = Math.ceil((expiresAt - now) / 60_000);
  if (minutes <= 0) return "This code is too old. Show a new one.";
  return `For one device, within ${minutes === 1 ? "a minute" : `${minutes} minutes`}.`;
}

/** Lifetimes that a person may choose for a code; the first one is the relay's own. */
export const codeLifetimes = Object.freeze([
  { seconds: 0, words: "10 minutes" }, { seconds: 300, words: "5 minutes" },
  { seconds: 60, words: "1 minute" },
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
  const own = [...apps.map(({ zone }) => zone), "Vault"];
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
