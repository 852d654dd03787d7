/**
 * Sync status of a device, for a person. It is never "in sync" if the device is not.
 *
 * `state`:
 * - `needsPairing`: the device has no account, or the relay no longer accepts its token (`reason`).
 * - `syncing`: changes are being sent or received.
 * - `inSync`: the device has everything from the relay, and the relay has everything from the
 *   device.
 * - `needsPerson`: as `inSync`, except for parked, undecided or unreadable records, or a zone that
 *   is locked (sealed with keys that the device does not have), blocked, or out of the device's
 *   scope.
 * - `offline`: no connection since `since` (relay time), for the `reason`; the agent retries.
 * - `closed`: this tab's client was closed and does nothing any more.
 * - `plan`: the account's plan includes nothing.
 * - `failed`: sync is stopped until a person acts.
 *
 * `reasonCode`: the reason for programs, such as the code of a refusal, "network" (the browser has
 * none), "transport" or "lost" (the connection), "barred" (by an unknown refusal) or "store".
 * `accountMoved`: the account lives at `relay` now; the device goes there, or the page cannot.
 *
 * `relay`: address of the relay to which the account has moved; null: that of the page's option.
 *
 * @typedef {{state: string, reason: string | null, reasonCode: string | null,
 *   since: number | null, waiting: number, lastSync: number | null, transport: string | null,
 *   parked: object[], parkedCount: number,
 *   asking: object[], askingCount: number, setAsideCount: number, unreadableCount: number,
 *   needsKeys: boolean, lockedZones: string[], blockedZones: string[], zonesOutOfScope: string[],
 *   clockOffset: number | null,
 *   isDurable: boolean, storeReason: string | null, accountID: string | null,
 *   deviceID: string | null, relay: string | null,
 *   scope: import("../scope.js").Scope | null}} Status
 */

/**
 * Returns the status of a tab that has read the store, and has not heard from the leading tab.
 *
 * @param {Map<string, any>} values the stored values
 * @returns {Status}
 */
export function storedStatus({ outbox, values, store }) {
  return statusOf({
    engine: { outbox, transport: null, blockedZones: [], zonesRefusedByScope: [], isPaused: false,
      isInSync: false },
    connection: { failure: null, outage: null, pause: null }, isLoaded: true, store, clock: null,
    identity: values.get("identity"), lastSync: values.get("sync.last") ?? null,
  });
}

/** @returns {Status} */
export function statusOf({ engine, connection, isLoaded, identity, lastSync, store, clock }) {
  const { outbox } = engine;
  return {
    ...stateOf(engine, connection, isLoaded, identity),
    waiting: outbox?.unsent ?? 0,
    lastSync,
    transport: engine.transport,
    parked: outbox?.parked ?? [],
    parkedCount: outbox?.parkedCount ?? 0,
    asking: outbox?.asking ?? [],
    askingCount: outbox?.askingCount ?? 0,
    setAsideCount: outbox?.setAsideCount ?? 0,
    unreadableCount: outbox?.unreadableCount ?? 0,
    needsKeys: outbox?.needsKeys ?? false,
    lockedZones: outbox?.lockedZones ?? [],
    blockedZones: [...engine.blockedZones],
    zonesOutOfScope: [
      ...new Set([...outbox?.outOfScope ?? [], ...engine.zonesRefusedByScope])].sort(),
    clockOffset: clock?.offset ?? null,
    isDurable: store.isDurable,
    storeReason: store.reason,
    accountID: identity?.accountID ?? null,
    deviceID: identity?.deviceID ?? null,
    relay: identity?.relay ?? null,
    scope: identity?.scope ?? null,
  };
}

function stateOf(engine, { failure, outage, pause }, isLoaded, identity) {
  const result = (state, { reason = null, code: reasonCode = null, since = null } = {}) =>
    ({ state, reason, reasonCode, since });
  if (failure) {
    const states = { badToken: "needsPairing", planRequired: "plan" };
    return result(states[failure.code] ?? "failed", { ...failure, since: null });
  }
  if (!isLoaded) return result("syncing");
  if (!identity) {
    return result("needsPairing",
      { reason: "this device belongs to no account yet", code: "notPaired" });
  }
  if (outage) return result("offline", outage);
  if (engine.isPaused && pause) return result("offline", pause);
  if (!engine.isInSync) return result("syncing");
  const { parkedCount, askingCount, unreadableCount = 0, lockedZones = [], unsent } = engine.outbox;
  const count = parkedCount + askingCount + unreadableCount + lockedZones.length + unsent;
  return result(count > 0 ? "needsPerson" : "inSync");
}
