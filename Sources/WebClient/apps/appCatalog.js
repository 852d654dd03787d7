import { clipboardApp } from "./clipboard/clipboardApp.js";
import { habitsApp } from "./habits/habitsApp.js";
import { memosApp } from "./memos/memosApp.js";
import { timerApp } from "./timer/timerApp.js";
import { vaultApp } from "./vault/vaultApp.js";
import { resolverOf } from "../model/app.js";

/** The only list of a page's apps. */
export const apps = Object.freeze([timerApp, clipboardApp, memosApp, habitsApp, vaultApp]);

/**
 * Returns the rule for a record type of any app; undefined if no app knows the type.
 *
 * @returns {import("../model/resolver.js").Resolver | undefined}
 */
export function resolverFor(type) {
  return resolverOf(apps.find((app) => app.types.includes(type)), type);
}
