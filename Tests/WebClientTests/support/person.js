import { randomBytes } from "node:crypto";
import { act } from "../../../Sources/WebClient/apps/edit.js";

/** Returns a person's action in an app as edits for the client's `change`. */
export const editsOf = (app, action, random = randomBytes) =>
  ({ records, stamp, device, now }) =>
    act(app, { records: records(app.zone), stamp, device }, action, now, random).changes;

/** Returns an app's view of a page, from the client's records and open conflicts. */
export const stateOf = (records, asking, device) =>
  ({ records, asking: asking.map(({ server }) => server), device });

/** Returns the person's decision for the client's `decide`. */
export function decisionOf(app, state, action) {
  const [decision] = act(app, state, action, 0, randomBytes).decisions;
  return decision;
}
