import { randomBytes } from "node:crypto";
import { act } from "../../../Sources/WebClient/apps/edit.js";

/** What a person does with an app, as edits for the client's `change`. */
export const editsOf = (app, action, random = randomBytes) =>
  ({ records, stamp, device, now }) =>
    act(app, { records: records(app.zone), stamp, device }, action, now, random).changes;

/** What an app sees of a page, from what the client holds and asks. */
export const stateOf = (records, asking, device) =>
  ({ records, asking: asking.map(({ server }) => server), device });

/** The person's answer, as the client's `decide` takes it. */
export function decisionOf(app, state, action) {
  const [decision] = act(app, state, action, 0, randomBytes).decisions;
  return decision;
}
