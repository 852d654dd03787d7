/**
 * Position in an account's sequence of saves, in the relay's format:
 *
 *     <generation hex>.<sequence>[.z<zone digest hex>][.p<pinned sequence>][.h<horizon>]
 *
 * The text is stored and sent unchanged. Its parts show which of two positions is later. Another
 * generation shows that the relay was restored from a backup.
 */

const form = new RegExp(
  "^([0-9a-f]{1,8})\\.(\\d{1,16})"
    + "(?:\\.z([0-9a-f]{1,8}))?(?:\\.p(\\d{1,16}))?(?:\\.h(\\d{1,16}))?$",
);

/**
 * @param {string} text
 * @returns {{generation: string, sequence: number, zone: string | null, pinned: number | null,
 *   horizon: number | null} | null} null if no relay could have made the token
 */
export function readToken(text) {
  const found = typeof text === "string" ? form.exec(text) : null;
  if (!found) return null;
  const number = (part) => (part === undefined ? null : Number(part));
  const token = {
    generation: found[1],
    sequence: Number(found[2]),
    zone: found[3] ?? null,
    pinned: number(found[4]),
    horizon: number(found[5]),
  };
  const isExact = [token.sequence, token.pinned ?? 0, token.horizon ?? 0].every(
    Number.isSafeInteger,
  );
  return isExact ? token : null;
}

/** True if everything up to `other` is known at `text`. */
export function covers(text, other) {
  const [left, right] = [readToken(text), readToken(other)];
  return !!left && !!right && left.generation === right.generation
    && left.sequence >= right.sequence;
}

/** True if both are the same position, whatever their horizons are. */
export function isSamePlace(text, other) {
  const [left, right] = [readToken(text), readToken(other)];
  return !!left && !!right && left.generation === right.generation
    && left.sequence === right.sequence && left.zone === right.zone
    && left.pinned === right.pinned;
}

/**
 * Returns the position `text` for a device that comes from `earlier` by a link that is the same for
 * all devices. Keeps the device's own horizon, because a record may have been overwritten in
 * between.
 */
export function reached(text, earlier) {
  const [to, from] = [readToken(text), readToken(earlier)];
  if (!to || !from || to.pinned !== null || from.pinned !== null) return text;
  if (to.generation !== from.generation || from.horizon === null) return text;
  if (from.horizon <= Math.max(to.sequence, to.horizon ?? 0)) return text;
  const bare = to.horizon === null ? text : text.slice(0, text.lastIndexOf(".h"));
  return `${bare}.h${from.horizon}`;
}

/** Returns the sequence that a history must reach for the token to be valid; 0 if it is not a
 * token. */
export function reach(text) {
  const place = readToken(text);
  return place ? Math.max(place.sequence, place.pinned ?? 0, place.horizon ?? 0) : 0;
}

/**
 * Returns the position `text` for a device that also knows tags up to `tag`: a history that lacks
 * them is another history.
 */
export function knowing(text, tag) {
  const place = readToken(text);
  if (!place || tag <= reach(text)) return text;
  const bare = place.horizon === null ? text : text.slice(0, text.lastIndexOf(".h"));
  return `${bare}.h${tag}`;
}

/** Returns the position of this tag in the history of `text`. */
export const atTag = (text, tag) => `${generationOf(text)}.${tag}`;

/** @returns {string | null} the history of the position */
export const generationOf = (text) => readToken(text)?.generation ?? null;
