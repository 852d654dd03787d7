import { clipboardApp } from "./clipboard/clipboardApp.js";
import { habitsApp } from "./habits/habitsApp.js";
import { memosApp } from "./memos/memosApp.js";
import { timerApp } from "./timer/timerApp.js";

/** All apps of a page: the only list of them. The vault's files have no place in a page. */
export const apps = Object.freeze([timerApp, clipboardApp, memosApp, habitsApp]);

/**
 * The rule for a record type, whichever app it belongs to; undefined for a type no app knows.
 *
 * @returns {import("../changes/resolver.js").Resolver | undefined}
 */
export function resolverFor(type) {
  return apps.find((app) => app.types.includes(type))?.resolvers[type];
}
