/**
 * Returns a random UUID (RFC 9562, version 4) for the name of a new record.
 *
 * `crypto.randomUUID` is missing on a page loaded over plain http; random bytes are available.
 *
 * @param {(count: number) => Uint8Array} random returns `count` random bytes
 */
export function uuid(random) {
  const bytes = Uint8Array.from(random(16));
  if (bytes.length !== 16) throw new TypeError("a UUID takes 16 random bytes");
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
