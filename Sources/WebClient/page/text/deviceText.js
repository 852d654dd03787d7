import { t } from "../language/language.js";

const browsers = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"], [/\bOPR\//, "Opera"], [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/Chrom(?:e|ium)\/|\bCriOS\//, "Chrome"], [/\bSafari\//, "Safari"],
];
const systems = [
  [/\biPhone\b/, "iPhone"], [/\biPad\b/, "iPad"], [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"], [/\bMac OS X\b/, "Mac"], [/\bCrOS\b/, "Chromebook"],
  [/\bLinux\b/, "Linux"],
];

/** Returns a default name for a browser in the account's list, until a person changes it. */
export function browserName(userAgent) {
  const [browser, system] = [browsers, systems].map((list) =>
    list.find(([sign]) => sign.test(userAgent))?.[1]);
  if (!browser && !system) return t("Browser");
  if (!system) return browser;
  return t("{browser} on {system}", { browser: browser ?? t("Browser"), system });
}

/** Returns the display name of a device, or "another device" if its name is not known yet. */
export const deviceLabel = (device, name) => (name === device ? t("another device") : name);

/** Characters of a code: digits and capitals except I, L, O and U. */
const sign = /^[0-9A-HJKMNP-TV-Z]+$/;
const half = 12;

/**
 * Returns the letters of a typed code, or of a link with a code, in groups of four: 12 letters, or
 * 24 with the second half, which is never sent; null for any other text. The second half is in
 * links that no browser opens, but that a person may paste here. A link with the first half alone
 * has a mark if there is a second; the mark stays.
 *
 *     http://relay:5625/#code=7Q2M-0XKD-9RTA&keys
 *     lockstep+http://relay:5625/#code=7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
 */
export function codeIn(typed) {
  const start = typed.lastIndexOf("#code=");
  const [text, mark = ""] = (start < 0 ? typed : typed.slice(start + 6)).trim().split(/(&keys)$/);
  const letters = text.replace(/[\s-]/g, "").toUpperCase()
    .replaceAll("O", "0").replace(/[IL]/g, "1");
  const isCode = sign.test(letters) && [half, 2 * half].includes(letters.length);
  if (!isCode) return null;
  const code = letters.replace(/(.{4})(?=.)/g, "$1-");
  return letters.length === half ? code + mark : code;
}

/** Returns the first and the second half of a code; the second is empty if it is not there. */
export const halvesOf = (code) => {
  const [letters] = code.split("&");
  return [letters.slice(0, halfText), letters.slice(halfText + 1)];
};

/** Length of a half in groups of four. */
const halfText = half + half / 4 - 1;

/** Returns the link that another device opens to join the account. */
export const linkTo = (relay, code) => `${relay}/#code=${code}`;
