import { keysZone } from "../sealing/keyRing.js";

/**
 * Zones of Lockstep's own apps, the vault included, which no page has. Every program may read them.
 * Only the apps edit them, because they check what their other devices rely on; the agent's socket
 * refuses the same (`HomeHolder`). An app object of these has `isOwn`.
 */
const zones = new Set(["Clipboard", "Habits", "Memos", "Timer", "Vault"]);

/** True for a zone that is for Lockstep alone. */
export const isOwnZone = (zone) => zone === keysZone || zones.has(zone);

/** Returns the reason that a client with these apps cannot edit the zone; null if it can. */
export function faultOfOwnZone(zone, apps) {
  if (zone === keysZone) return `the zone ${zone} is for the account's keys alone`;
  if (!isOwnZone(zone) || apps.some((app) => app.isOwn && app.zone === zone)) return null;
  return `the zone ${zone} belongs to one of Lockstep's own apps, which checks its own edits; `
    + "use Lockstep's page or lockstep agent, or another zone";
}
