/**
 * Address of a relay that another one names, as an origin.
 *
 * @param {string} former address of the relay that names it
 * @param {import("./refusal.js").Refusal} refusal `accountMoved`
 * @returns {string | null} null if the device does not go there: it is no address of a relay, the
 *   same one, or one without TLS that a relay with TLS names
 */
export function movedTo(former, refusal) {
  const { relay } = refusal;
  if (typeof relay !== "string" || !URL.canParse(relay)) return null;
  const { protocol, origin, pathname, search, hash, username, password } = new URL(relay);
  if (!["http:", "https:"].includes(protocol) || pathname !== "/") return null;
  if (search + hash + username + password !== "") return null;
  if (protocol === "http:" && former.startsWith("https:")) return null;
  return origin === former ? null : origin;
}
