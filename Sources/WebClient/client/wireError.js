import { isObject } from "../json/jsonValue.js";
import { JSONFault, parseMessage } from "../json/jsonParser.js";

/** Message that is not in the protocol's format, so it does not come from a Lockstep relay. */
export class WireError extends Error {
  constructor(message) {
    super(message);
    this.name = "WireError";
  }
}

/** Reads a message of the relay, which is always a JSON object. Keeps every digit of its
 * numbers. */
export function readObject(text) {
  let value;
  try {
    value = parseMessage(text);
  } catch (error) {
    if (!(error instanceof JSONFault)) throw error;
    throw new WireError(`invalid JSON: ${error.message}`);
  }
  if (!isObject(value)) throw new WireError("a message must be a JSON object");
  return value;
}
