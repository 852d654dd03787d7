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
  const part = scope?.zones ? `Only ${listed(scope.zones)}` : "Everything";
  if (isReadOnly(scope)) return `${part}, read-only`;
  return scope?.zones ? part : "";
}

/** Returns one sentence about a device that joins with a code of this scope. */
export function abilities(scope) {
  const verb = isReadOnly(scope) ? "only read" : "use";
  if (!scope?.zones) return `The new device may ${verb} the whole account.`;
  return `The new device may ${verb} ${listed(scope.zones)}, and sees nothing else of the account.`;
}

/** Returns the text about a browser that was paired for a part of the account; empty for others. */
export function ownScopeText(scope) {
  if (scopeText(scope) === "") return "";
  const verb = isReadOnly(scope) ? "only read" : "use";
  const what = scope.zones ? listed(scope.zones) : "the account";
  return `This browser was paired to ${verb} ${what}, and does not see your other devices. To `
    + "remove one, or to change what this browser may do, use a device with the whole account.";
}

/** Returns the text above a view that this browser may not change; empty if it may. */
export function readOnlyText(scope, zone) {
  if (zone === undefined || !isReadOnly(scope)) return "";
  return `This browser was paired to read only. What your other devices do in ${zone} shows here; `
    + "to change it, use one of them.";
}

/** Joins names: `Memos, Timer and Vault`. */
function listed(names) {
  const [last, ...others] = [...names].reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} and ${last}`;
}
