// Archives in the form `ustar` (POSIX.1-2008, pax). A file is a header of 512 bytes and its bytes,
// filled up with zeros to a multiple of 512:
//
//       0  name, 100 bytes         124  length, 12 (octal)     156  kind, 1: "0" is a file
//     100  mode, 8 (octal)         136  time, 12 (octal)       257  "ustar", 0, "00"
//     108  user, group, 8 each     148  sum of the header, 8
//
// Two headers of zeros end the archive.

const block = 512;
const utf8 = new TextEncoder();

/** Largest length of a file that eleven octal digits hold. */
const fileBytesMax = 8 ** 11 - 1;
const nameBytesMax = 100;

/**
 * Returns the header of a file.
 *
 * @param {{name: string, bytes: number, seconds: number}} file `seconds`: time of the last change,
 *   since the Unix epoch
 * @throws {RangeError} if the name or the file is too long
 */
export function tarHeader({ name, bytes, seconds }) {
  const nameBytes = utf8.encode(name);
  if (nameBytes.length > nameBytesMax || !(bytes >= 0 && bytes <= fileBytesMax)) {
    throw new RangeError("a file's name or length does not fit into the archive");
  }
  const header = new Uint8Array(block);
  const put = (at, words) => header.set(utf8.encode(words), at);
  header.set(nameBytes);
  put(100, octal(0o600, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(bytes, 11));
  put(136, octal(Math.max(0, Math.floor(seconds)), 11));
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\u000000");
  put(148, `${octal(header.reduce((sum, byte) => sum + byte, 0), 6)}\u0000 `);
  return header;
}

const octal = (value, digits) => value.toString(8).padStart(digits, "0");

/** Returns the zeros after the bytes of a file. */
export const tarFilling = (bytes) => new Uint8Array((block - (bytes % block)) % block);

/** Returns the end of an archive. */
export const tarEnd = () => new Uint8Array(2 * block);
