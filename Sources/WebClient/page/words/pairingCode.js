/** What a code is written with: digits and capitals but for I, L, O and U. */
const sign = /^[0-9A-HJKMNP-TV-Z]+$/;
const half = 12;

/**
 * The part of a typed code, or of a link that has one, that goes to the relay; null for what is no
 * code. A second half opens the vault's key and is never sent; it stands in links that no browser
 * opens, and that somebody may paste here.
 *
 *     http://relay:5625/#code=7Q2M-0XKD-9RTA
 *     lockstep+http://relay:5625/#code=7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
 */
export function codeToSend(typed) {
  const mark = typed.lastIndexOf("#code=");
  const letters = (mark < 0 ? typed : typed.slice(mark + 6)).replace(/[\s-]/g, "").toUpperCase()
    .replaceAll("O", "0").replace(/[IL]/g, "1");
  const isCode = sign.test(letters) && [half, 2 * half].includes(letters.length);
  return isCode ? letters.slice(0, half).replace(/(.{4})(?=.)/g, "$1-") : null;
}

/** What another device opens to get in. */
export const linkTo = (relay, code) => `${relay}/#code=${code}`;
