import { isDeleted, merged } from "../../changes/resolver.js";

/**
 * "A change outlives a delete": a live version against a deleted one stands as it is, whole,
 * whatever the base says and whichever is newer. To lose what a person wrote is worse than to bring
 * back what a person removed.
 *
 * @returns {import("../../changes/resolver.js").Resolution | undefined} undefined where both
 *   versions live, and the record type's own rule has the word
 */
export function changeOutlivesDelete({ local, server }) {
  if (isDeleted(local)) return merged(server.fields);
  if (isDeleted(server)) return merged(local.fields);
  return undefined;
}
