/**
 * A place in an account's order of saves, as the relay writes it:
 *
 *     <generation hex>.<sequence>[.z<zone digest hex>][.p<pinned sequence>][.h<horizon>]
 *
 * The text is what is kept and sent. What stands in it tells which of two places is later, and
 * that a relay has come back from a backup: then the generation is another one.
 */

const form = new RegExp(
  "^([0-9a-f]{1,8})\\.(\\d{1,16})"
    + "(?:\\.z([0-9a-f]{1,8}))?(?:\\.p(\\d{1,16}))?(?:\\.h(\\d{1,16}))?$",
);

/**
 * @param {string} text
 * @returns {{generation: string, sequence: number, zone: string | null, pinned: number | null,
 *   horizon: number | null} | null} null where it is no token that a relay could have made
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

/** Whether all up to `other` is known at `text`. */
export function covers(text, other) {
  const [left, right] = [readToken(text), readToken(other)];
  return !!left && !!right && left.generation === right.generation
    && left.sequence >= right.sequence;
}

/** Whether both name the same place, whatever they say of how far the account had come. */
export function isSamePlace(text, other) {
  const [left, right] = [readToken(text), readToken(other)];
  return !!left && !!right && left.generation === right.generation
    && left.sequence === right.sequence && left.zone === right.zone
    && left.pinned === right.pinned;
}

/**
 * The place `text`, for who comes to it from `earlier` by a link that was made for all: how far
 * the account had come by then stays with him, since a record may have been saved over on the way.
 */
export function reached(text, earlier) {
  const [to, from] = [readToken(text), readToken(earlier)];
  if (!to || !from || to.pinned !== null || from.pinned !== null) return text;
  if (to.generation !== from.generation || from.horizon === null) return text;
  if (from.horizon <= Math.max(to.sequence, to.horizon ?? 0)) return text;
  const bare = to.horizon === null ? text : text.slice(0, text.lastIndexOf(".h"));
  return `${bare}.h${from.horizon}`;
}

/** How far its history must reach for the token to be true of it; 0 where it is none. */
export function reach(text) {
  const place = readToken(text);
  return place ? Math.max(place.sequence, place.pinned ?? 0, place.horizon ?? 0) : 0;
}

/**
 * The place `text`, for who has been given tags up to `tag` besides: a history that lacks them is
 * another one.
 */
export function knowing(text, tag) {
  const place = readToken(text);
  if (!place || tag <= reach(text)) return text;
  const bare = place.horizon === null ? text : text.slice(0, text.lastIndexOf(".h"));
  return `${bare}.h${tag}`;
}

/** @returns {string | null} which history the place belongs to */
export const generationOf = (text) => readToken(text)?.generation ?? null;
