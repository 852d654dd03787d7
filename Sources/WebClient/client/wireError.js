import { isObject } from "../changes/json.js";
import { JSONFault, parseMessage } from "../changes/jsonParser.js";

/** What came is not of the form that the protocol names: no relay of ours has said it. */
export class WireError extends Error {
  constructor(message) {
    super(message);
    this.name = "WireError";
  }
}

/** All that a relay says is a JSON object. No digit of what stands in it is lost. */
export function readObject(text) {
  let value;
  try {
    value = parseMessage(text);
  } catch (error) {
    if (!(error instanceof JSONFault)) throw error;
    throw new WireError(`what should be JSON is none: ${error.message}`);
  }
  if (!isObject(value)) throw new WireError("what should be a JSON object is none");
  return value;
}
