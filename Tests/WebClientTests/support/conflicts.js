import { resolverFor } from "../../../Sources/WebClient/apps/appCatalog.js";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";

// Cases and answers in the format of the vectors, and of `lockstep resolve`.

export function answer({ type, base, local, server }) {
  return form(resolverFor(type).resolve({ base, local, server }));
}

export function form(resolution) {
  if (resolution.ask) return { outcome: "ask", fields: null, deleted: false, copies: [] };
  const { merged, copies } = resolution;
  return { outcome: "merged", fields: merged, deleted: merged === null, copies };
}

/** The answer without the stamps of the fields. */
export const unstamped = (answer) => ({ ...answer, fields: withoutStamps(answer.fields) });

export const exchanged = (it) => ({ ...it, local: it.server, server: it.local });

/** Returns a version of the record `current`; `fields` null for a delete. */
export const version = (fields, { at = 0, by = "mac" } = {}) => ({
  name: "current", fields, modifiedAt: at, device: by, deleted: fields === null,
});

/** Returns an edit of the timer as another program might write it: the five members and no more. */
export const edit = (deviceID, timestamp, stateType, { left = 0, paused = false } = {}) => ({
  deviceID, timestamp, stateType, isPaused: paused, remaining: left,
});

/** Returns a person's edit as the `act` of edits made by time. */
export const act = (timestamp, stateType, { left = 0, paused = false } = {}) => ({
  timestamp, stateType, isPaused: paused, remaining: left,
});

export const timer = (completedPomodoros, ...edits) => ({ completedPomodoros, edits });
