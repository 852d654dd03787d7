import { isReadOnly } from "../page/text/scopeText.js";
import { ago, dayAt, longDate } from "../page/text/time.js";

/** Returns an account's devices as rows of texts: the connected ones first, then by last seen. */
export function deviceRows(devices, now, minutesAhead) {
  const seen = ({ lastSeen }) => (Number.isFinite(lastSeen) ? lastSeen : 0);
  return [...devices]
    .sort((one, other) => Number(other.connected === true) - Number(one.connected === true)
      || seen(other) - seen(one))
    .map((device) => ({
      id: String(device.deviceID ?? ""), name: text(device.deviceName) || "Unnamed device",
      isConnected: device.connected === true, about: aboutText(device, now, minutesAhead),
      scope: scopeText(device.scope),
    }));
}

function aboutText({ connected, lastSeen, platform, appVersion, joinedAt }, now, minutesAhead) {
  const parts = [
    connected === true ? "Connected now"
      : Number.isFinite(lastSeen) ? `Seen ${ago(lastSeen, now, minutesAhead)}` : "",
    Number.isFinite(joinedAt) ? `joined ${longDate(dayAt(joinedAt, minutesAhead))}` : "",
    text(platform), text(appVersion) && `version ${text(appVersion)}`,
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Returns what a device may do, in short. */
function scopeText(scope) {
  const zones = Array.isArray(scope?.zones) ? `Only ${scope.zones.map(String).join(", ")}` : null;
  if (isReadOnly(scope)) return `${zones ?? "Everything"}, read-only`;
  return zones ?? "The whole account";
}

const text = (value) => (typeof value === "string" ? value : "");
