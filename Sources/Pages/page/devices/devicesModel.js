import { ago } from "../words/time.js";

/** The account's devices as rows: this one first, then the connected ones, then by last seen. */
export function deviceRows(devices, ownID, now, minutesAhead) {
  const rank = ({ deviceID, connected }) => (deviceID === ownID ? 0 : connected ? 1 : 2);
  return [...devices]
    .sort((one, other) => rank(one) - rank(other) || other.lastSeen - one.lastSeen)
    .map(({ deviceID, deviceName, platform, connected, lastSeen }) => ({
      key: deviceID, name: deviceName, platform, isOwn: deviceID === ownID, isConnected: connected,
      seen: connected ? "Connected now" : `Seen ${ago(lastSeen, now, minutesAhead)}`,
    }));
}

/** How long a code is still good. */
export function codeLife(expiresAt, now) {
  const minutes = Math.ceil((expiresAt - now) / 60_000);
  if (minutes <= 0) return "This code is too old. Show a new one.";
  return `For one device, within ${minutes === 1 ? "a minute" : `${minutes} minutes`}.`;
}
