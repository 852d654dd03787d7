import { ago } from "../text/time.js";

/** Returns the account's devices as rows: this one first, then the connected ones, then by last
 * seen. */
export function deviceRows(devices, ownID, now, minutesAhead) {
  const rank = ({ deviceID, connected }) => (deviceID === ownID ? 0 : connected ? 1 : 2);
  return [...devices]
    .sort((one, other) => rank(one) - rank(other) || (other.lastSeen ?? 0) - (one.lastSeen ?? 0))
    .map(({ deviceID, deviceName, platform, connected = false, lastSeen }) => ({
      key: deviceID, name: deviceName, isOwn: deviceID === ownID, isConnected: connected,
      about: [seen(connected, lastSeen, now, minutesAhead), platform].filter(Boolean).join(" · "),
    }));
}

/** Empty if the relay has not answered since the page was opened. */
function seen(isConnected, lastSeen, now, minutesAhead) {
  if (isConnected) return "Connected now";
  return lastSeen === undefined ? "" : `Seen ${ago(lastSeen, now, minutesAhead)}`;
}

/** Returns the remaining lifetime of a code, as text. */
export function codeLifetime(expiresAt, now) {
  const minutes = Math.ceil((expiresAt - now) / 60_000);
  if (minutes <= 0) return "This code is too old. Show a new one.";
  return `For one device, within ${minutes === 1 ? "a minute" : `${minutes} minutes`}.`;
}
