import { EditError } from "./replica/editing.js";

/**
 * Codes that a person types on a new device: the relay's pairing code, and after it, if the code
 * carries keys, a secret that the relay never receives. Each half has twelve letters of Crockford's
 * base 32, which has no I, L, O or U; a typed I, L or O counts as the digit that it resembles.
 *
 *     7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
 *     └ relay's part ┘ └ the secret ┘
 *
 * A link that a browser opens has the first half alone, and a mark if the secret belongs to it:
 *
 *     7Q2M-0XKD-9RTA&keys
 */

const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const half = 12;
const keysMark = "&keys";

/** Returns the letters of a typed text; null if it has others. @param {string} typed */
export function lettersIn(typed) {
  const letters = withoutSpace(typed).toUpperCase().replaceAll("O", "0").replace(/[IL]/g, "1");
  return [...letters].every((letter) => alphabet.includes(letter)) ? letters : null;
}

const withoutSpace = (typed) => typed.replace(/[\s-]/gu, "");

/**
 * Returns the part of a typed code to send, and the letters of its secret, null if it has none. A
 * text up to the length of one half is sent as it was typed: the relay checks it. `carriesKeys`:
 * the code has a second half, also if it is not in the text.
 *
 * @param {string} typed
 * @returns {{code: string, secret: string | null, carriesKeys: boolean}}
 * @throws {EditError} if the text is longer but does not have both halves: none of it may be sent,
 *   because the mistake may be in either half
 */
export function typedCode(typed) {
  const isMarked = withoutSpace(typed).endsWith(keysMark);
  const text = isMarked ? typed.slice(0, typed.lastIndexOf(keysMark)) : typed;
  if ([...withoutSpace(text)].length <= half) {
    return { code: text, secret: null, carriesKeys: isMarked };
  }
  const letters = lettersIn(text);
  if (letters?.length !== 2 * half) {
    throw new EditError("badCode", "a code has 12 letters and digits, or 24; type it again");
  }
  const [code, secret] = [grouped(letters.slice(0, half)), letters.slice(half)];
  return { code, secret, carriesKeys: true };
}

/**
 * Returns the letters of a typed second half, also if the whole of `code` was typed; null for
 * another text.
 *
 * @param {string} typed
 * @param {string} code the part that was sent
 */
export function typedSecret(typed, code) {
  const letters = lettersIn(typed);
  if (letters?.length === half) return letters;
  const isWhole = letters?.length === 2 * half && letters.startsWith(lettersIn(code));
  return isWhole ? letters.slice(half) : null;
}

/** Returns the letters of a new secret. @param {(count: number) => Uint8Array} random */
export const newSecret = (random) =>
  Array.from(random(half), (byte) => alphabet[byte & 31]).join("");

/** Returns the whole code; null if the relay's part does not have the letters of one half: a person
 * would then type other letters as the first half. */
export function wholeCode(code, secret) {
  const letters = typeof code === "string" ? lettersIn(code) : null;
  return letters?.length === half ? grouped(letters + secret) : null;
}

/** Returns the text for a link to a code whose second half opens keys. @param {string} code the
 * relay's part */
export const markedCode = (code) => code + keysMark;

const grouped = (letters) => letters.match(/.{4}/gu).join("-");
