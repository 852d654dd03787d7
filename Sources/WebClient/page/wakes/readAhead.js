import { wakeCache } from "./browserPush.js";

/** Path of the entry with what the service worker has read, as in `worker/wakes.js`. */
const toldPath = "/told";

/**
 * Returns what the service worker has read of the relay for this device since the page was last
 * open: answers to `GET /v1/changes` as texts, oldest first.
 *
 * @param {string} deviceID
 * @param {CacheStorage | undefined} caches undefined where the page is not secure
 * @returns {Promise<string[]>}
 */
export async function readAhead(deviceID, caches = globalThis.caches) {
  const entry = await (await caches?.open(wakeCache))?.match(toldPath);
  const told = await entry?.json();
  return told?.deviceID === deviceID ? told.read ?? [] : [];
}
