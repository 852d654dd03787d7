const pairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Returns two lowercase hexadecimal digits for each byte. @param {Uint8Array} bytes */
export function hex(bytes) {
  let text = "";
  for (let index = 0; index < bytes.length; index += 1) text += pairs[bytes[index]];
  return text;
}

/** Returns the bytes; null if the text does not consist of pairs of lowercase digits. */
export function hexBytes(text) {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) return null;
  return Uint8Array.from({ length: text.length / 2 }, (_, index) =>
    Number.parseInt(text.slice(2 * index, 2 * index + 2), 16));
}

/** True for 64 bits as 16 lowercase digits, such as a device's id. @param {any} text */
export const is64Bits = (text) => typeof text === "string" && /^[0-9a-f]{16}$/.test(text);
