const schemes = ["http:", "https:", "mailto:"];

/**
 * Returns the address of a link in a memo, as a browser reads it; null if a memo may not link to
 * it: only http, https and mailto are allowed, without a password.
 *
 * @param {string} address
 * @returns {string | null}
 */
export function linkTarget(address) {
  // Before the browser's own reading, which drops some of these characters.
  if (!/^(?:https?:\/\/|mailto:)[^\s\p{Control}\p{Format}]+$/iu.test(address)) return null;
  if (!URL.canParse(address)) return null;
  const url = new URL(address);
  const isSafe = schemes.includes(url.protocol) && url.username === "" && url.password === "";
  return isSafe ? url.href : null;
}
