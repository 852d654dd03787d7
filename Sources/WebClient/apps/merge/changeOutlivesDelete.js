import { isDeleted, merged } from "../../changes/resolver.js";

/**
 * "A change outlives a delete": if one version is deleted, the live one is kept whole, whatever the
 * base is and whichever version is newer. Losing written content is worse than restoring removed
 * content.
 *
 * @returns {import("../../changes/resolver.js").Resolution | undefined} undefined if both versions
 *   are live; then the record type's own rule decides
 */
export function changeOutlivesDelete({ local, server }) {
  if (isDeleted(local)) return merged(server.fields);
  if (isDeleted(server)) return merged(local.fields);
  return undefined;
}
