import { isObject } from "../json/jsonValue.js";
import { isName } from "../model/name.js";
import { EditError } from "./replica/editing.js";

/** Returns the id of a registration. @throws {EditError} if it is not a name */
export function checkedWakeID(id) {
  if (isName(id)) return id;
  throw new EditError("badSubscription",
    "the id of a registration is a text of 1 to 255 bytes without control characters");
}

/**
 * Returns the body of a registration for wakes.
 *
 * @param {PushSubscription | PushSubscriptionJSON} subscription of the Push API
 * @param {{title: string, navigate: string} | null} notification what the browser shows for a wake
 *   if it did not run the worker
 * @throws {EditError} if it is not a subscription, or not a notification
 */
export function wakeRegistration(subscription, notification = null) {
  const isOfBrowser = typeof subscription?.toJSON === "function";
  const { endpoint, keys, expirationTime } = (isOfBrowser ? subscription.toJSON() : subscription)
    ?? {};
  const { p256dh, auth } = isObject(keys) ? keys : {};
  if (![endpoint, p256dh, auth].every((it) => typeof it === "string" && it !== "")) {
    throw new EditError("badSubscription",
      "a subscription is a PushSubscription, or its toJSON(): {endpoint, keys: {p256dh, auth}}");
  }
  const ends = Number.isFinite(expirationTime) ? { expiresAt: Math.floor(expirationTime) } : {};
  const wakeKey = subscribedKey(subscription);
  return { kind: "webpush", endpoint, p256dh, auth, ...wakeKey && { wakeKey }, ...ends,
    ...notificationOf(notification) };
}

/** Returns the relay's key for which the browser has made the subscription, as the relay writes it;
 * null if the subscription does not tell. */
function subscribedKey({ options }) {
  if (!options?.applicationServerKey) return null;
  const bytes = new Uint8Array(options.applicationServerKey);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function notificationOf(notification) {
  if (notification === null) return {};
  const { title, navigate } = isObject(notification) ? notification : {};
  const isGood = typeof title === "string" && title !== ""
    && typeof navigate === "string" && navigate.startsWith("https://");
  if (isGood) return { notification: { title, navigate } };
  throw new EditError("badNotification",
    "a notification is {title, navigate}: a text, and the https URL that a click opens");
}
