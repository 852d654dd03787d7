/**
 * File that could not be sent or read. `code` is for programs, the message for a person, with the
 * next step:
 *
 * - "aborted": by the caller
 * - "tooLarge": larger than the client takes
 * - "noKeys": the zone is sealed, and this device does not have the keys
 * - "missing": the relay does not have a part of the content yet, or has lost it
 * - "damaged": the content is not what the reference says
 * - "unreadable": the browser cannot read the file
 */
export class FileError extends Error {
  /**
   * @param {"aborted" | "tooLarge" | "noKeys" | "missing" | "damaged" | "unreadable"} code
   * @param {string=} message
   * @param {ErrorOptions=} options
   */
  constructor(code, message = sentences[code], options) {
    super(message, options);
    this.name = "FileError";
    this.code = code;
  }
}

const sentences = {
  aborted: "the transfer was stopped; start it again",
  tooLarge: "a browser sends and opens files of at most 256 MiB; use the program lockstep on a "
    + "computer for a larger one",
  noKeys: "the files of this zone are sealed, and this device does not have the keys; join again "
    + "with a whole code of a device that has them",
  missing: "the relay does not have the whole content yet; open lockstep on a device that has the "
    + "file, and try again",
  damaged: "the content that the relay has is not that of the file; open lockstep on a device that "
    + "has the file, and try again",
  unreadable: "the browser cannot read this file, or it has changed meanwhile; choose it again",
};

/** Throws a `FileError` if the caller has stopped the transfer. @param {AbortSignal=} signal */
export function checkAborted(signal) {
  if (signal?.aborted) throw new FileError("aborted");
}
