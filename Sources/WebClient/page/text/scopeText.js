import { t } from "../language/language.js";
import { listed, zoneText } from "./sentences.js";

/**
 * Texts about the part of an account that a device may use: `{zones?, access}` as the relay gives
 * it, null or undefined for everything.
 */

/** True if a device with this scope may read the zone; what has none, everybody may. */
export const hasZone = (scope, zone) =>
  zone === undefined || (scope?.zones?.includes(zone) ?? true);

/** True if a device with this scope may change nothing. */
export const isReadOnly = (scope) => scope?.access === "read";

/** Returns a short form for a list of devices: `Only Memos, read-only`; empty for everything. */
export function scopeText(scope) {
  const zones = zonesText(scope);
  if (zones === null) return isReadOnly(scope) ? t("Everything, read-only") : "";
  return isReadOnly(scope) ? t("Only {zones}, read-only", { zones }) : t("Only {zones}", { zones });
}

/** Returns one sentence about a device that joins with a code of this scope. */
export function abilities(scope) {
  const zones = zonesText(scope);
  if (zones === null) {
    return isReadOnly(scope) ? t("The new device may only read the whole account.")
      : t("The new device may use the whole account.");
  }
  return isReadOnly(scope)
    ? t("The new device may only read {zones}, and sees nothing else of the account.", { zones })
    : t("The new device may use {zones}, and sees nothing else of the account.", { zones });
}

/** Returns the text about a browser that was paired for a part of the account; empty for others. */
export function ownScopeText(scope) {
  const zones = zonesText(scope);
  if (zones === null) {
    return isReadOnly(scope) ? t("This browser was paired to only read the account, and does not "
      + "see your other devices. To remove one, or to change what this browser may do, use a "
      + "device with the whole account.") : "";
  }
  return isReadOnly(scope)
    ? t("This browser was paired to only read {zones}, and does not see your other devices. To "
      + "remove one, or to change what this browser may do, use a device with the whole account.",
    { zones })
    : t("This browser was paired to use {zones}, and does not see your other devices. To remove "
      + "one, or to change what this browser may do, use a device with the whole account.",
    { zones });
}

/** Returns the text above a view that this browser may not change; empty if it may. */
export function readOnlyText(scope, zone) {
  if (zone === undefined || !isReadOnly(scope)) return "";
  return t("This browser was paired to read only. What your other devices do in {zone} shows here; "
    + "to change it, use one of them.", { zone: zoneText(zone) });
}

/** Returns the names of the zones of a scope; null if it has all. */
const zonesText = (scope) => (scope?.zones ? listed(scope.zones.map(zoneText)) : null);
