// Words that a person can write down and speak: proquints (arXiv 0901.4016), five letters for 16
// bits.
//
//     bits   0…3   4…5   6…9   10…11  12…15
//            bdfghjklmnprstvz at 0, 2 and 4; aiou at 1 and 3

const consonants = "bdfghjklmnprstvz";
const vowels = "aiou";

/** Letters of a word. */
export const proquintLetters = 5;

/** Returns one word for every two bytes. @param {Uint8Array} bytes an even number */
export function proquints(bytes) {
  return Array.from({ length: bytes.length / 2 }, (_, index) =>
    word((bytes[2 * index] << 8) | bytes[2 * index + 1]));
}

const word = (bits) => consonants[bits >> 12] + vowels[(bits >> 10) & 3]
  + consonants[(bits >> 6) & 15] + vowels[(bits >> 4) & 3] + consonants[bits & 15];

/** Returns the 16 bits of a word of five lowercase letters; null if it is not one. */
export function proquintBits(text) {
  let bits = 0;
  for (let place = 0; place < proquintLetters; place += 1) {
    const isVowel = place === 1 || place === 3;
    const value = (isVowel ? vowels : consonants).indexOf(text.charAt(place));
    // An empty text stands at the beginning of any other.
    if (value < 0 || text.length !== proquintLetters) return null;
    bits = (bits << (isVowel ? 2 : 4)) | value;
  }
  return bits;
}
