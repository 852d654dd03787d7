/**
 * Where a device stands, for a person to see. Never says "in sync" when it is not.
 *
 * `state`:
 * - `starting`: the store is being read.
 * - `needsPairing`: it belongs to no account, or the relay knows its token no more (`reason`).
 * - `syncing`: something is on its way, up or down.
 * - `inSync`: all that the relay has is here, and all that was made here is there.
 * - `needsPerson`: as `inSync`, but for parked or undecided records, or a zone without a plan.
 * - `offline`: no connection since `since` (relay time), for the `reason`; it tries again.
 * - `closed`: this tab's part has ended, and nothing is done in it any more.
 * - `plan`: the account's plan includes nothing; `failed`: nothing works until a person acts.
 *
 * @typedef {{state: string, reason: string | null, since: number | null, waiting: number,
 *   lastSync: number | null, transport: string | null, parked: object[], parkedCount: number,
 *   asking: object[], askingCount: number, setAsideCount: number, blockedZones: string[],
 *   clockOffset: number | null,
 *   isDurable: boolean, storeReason: string | null, accountID: string | null,
 *   deviceID: string | null}} Status
 */

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
    blockedZones: [...engine.blockedZones],
    clockOffset: clock?.offset ?? null,
    isDurable: store.isDurable,
    storeReason: store.reason,
    accountID: identity?.accountID ?? null,
    deviceID: identity?.deviceID ?? null,
  };
}

function stateOf(engine, { failure, outage, pause }, isLoaded, identity) {
  const told = (state, reason = null, since = null) => ({ state, reason, since });
  if (failure) {
    const states = { badToken: "needsPairing", planRequired: "plan" };
    return told(states[failure.code] ?? "failed", failure.reason);
  }
  if (!isLoaded) return told("starting");
  if (!identity) return told("needsPairing", "this browser belongs to no account yet");
  if (outage) return told("offline", outage.reason, outage.since);
  if (engine.isPaused && pause) return told("offline", pause.reason, pause.since);
  if (!engine.isInSync) return told("syncing");
  const { parkedCount, askingCount, unsent } = engine.outbox;
  return told(parkedCount + askingCount + unsent > 0 ? "needsPerson" : "inSync");
}
