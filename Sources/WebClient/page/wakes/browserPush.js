import { t } from "../language/language.js";
import { NotificationPermission } from "../notificationPermission.js";

/** Tags of the notifications that the person sees in the page, as in `worker/wakes.js` and in
 * `timer/alerts/browserAlerts.js`. */
const tags = ["lockstep changes", "lockstep renewal", "lockstep timer"];
/** Cache of the service worker, the path of the mark that the person wants wakes, and that of the
 * choice that is not proved yet, as in `worker/wakes.js`. */
export const wakeCache = "lockstep wakes";
const wantedPath = "/wanted";
/** Cache and path of the entry with the page's language, as in `worker/wakes.js`. It outlives the
 * account, as the language does. */
const languageEntry = { cache: "lockstep language", path: "/language" };
const choicePath = "/choice";

/**
 * The browser's push and notifications, in one value. Tests provide their own.
 *
 * `obstacle`: reason for which this page gets none, `insecure` (plain http), `homeScreen` (on an
 * iPhone or iPad, the page is not an app) or `unsupported`; null if it may get them.
 *
 * `notification`: what Safari shows for a wake if it did not run the worker, as in
 * `worker/wakes.js`; null for other browsers, whose worker always runs.
 *
 * @param {typeof globalThis} scope
 */
export function systemPush(scope = globalThis) {
  const container = scope.navigator?.serviceWorker;
  const permission = new NotificationPermission(scope);
  /** Fails instead of waiting: without a worker, `ready` would never resolve. */
  const registration = async () => {
    const found = await container?.getRegistration();
    if (found?.active) return found;
    throw new Error(t("this browser has not stored the page yet; reload it, and try again"));
  };
  return {
    obstacle: obstacleOf(scope),
    get notification() { return notificationOf(scope); },
    get permission() { return permission.value; },
    requestPermission: () => permission.request(),
    async subscription() {
      const found = await container?.getRegistration();
      return described(await found?.pushManager?.getSubscription());
    },
    /** @param {string} key the relay's `wakeKey` */
    async subscribe(key) {
      const { pushManager } = await registration();
      try {
        return described(await pushManager.subscribe(
          { userVisibleOnly: true, applicationServerKey: key }));
      } catch ({ message }) {
        throw new Error(t("the browser got no subscription from its push service ({message})",
          { message }));
      }
    },
    /** Returns the endpoint that the relay accepted last, "" if it has accepted none yet; null if
     * the person wants no wakes. It outlives the subscription. */
    async wanted() {
      const entry = await (await scope.caches?.open(wakeCache))?.match(wantedPath);
      return entry ? entry.text() : null;
    },
    /** @param {string} endpoint that the relay has accepted, or "" */
    async want(endpoint) {
      await (await scope.caches.open(wakeCache)).put(wantedPath, new scope.Response(endpoint));
    },
    /** Notes that the person has turned wakes on: the worker shows that they are proved. */
    async choose() {
      const cache = await scope.caches.open(wakeCache);
      for (const path of [wantedPath, choicePath]) await cache.put(path, new scope.Response(""));
    },
    /** Removes the mark that the person wants wakes, and the choice. */
    async unwant() {
      const cache = await scope.caches?.open(wakeCache);
      for (const path of [wantedPath, choicePath]) await cache?.delete(path);
    },
    /** Leaves the page's language for the service worker, which cannot read the page's choices. */
    async keepLanguage(language) {
      const cache = await scope.caches?.open(languageEntry.cache);
      await cache?.put(languageEntry.path, new scope.Response(language));
    },
    /** Removes the notifications that the person sees in the page. */
    async clear() {
      const found = await container?.getRegistration();
      for (const tag of tags) {
        for (const shown of await found?.getNotifications?.({ tag }) ?? []) shown.close();
      }
    },
    /** Erases what the service worker remembers of an account, and the mark. */
    forget: async () => { await scope.caches?.delete(wakeCache); },
  };
}

function obstacleOf({ isSecureContext, navigator, Notification, PushManager }) {
  if (isSecureContext !== true) return "insecure";
  if (navigator.serviceWorker && Notification && PushManager) return null;
  return navigator.standalone === false ? "homeScreen" : "unsupported";
}

function notificationOf({ navigator, location }) {
  const isSafari = /AppleWebKit\/(?!.*Chrome\/)/u.test(navigator.userAgent ?? "");
  const navigate = `${location?.origin}/`;
  const isGood = isSafari && navigate.startsWith("https://") && navigate.length <= 160;
  return isGood ? { title: t("Something changed in Lockstep."), navigate } : null;
}

/** Returns a subscription with the key that it was made for, in Base64 for URLs. */
function described(subscription) {
  if (!subscription) return null;
  const bytes = new Uint8Array(subscription.options?.applicationServerKey ?? []);
  const key = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return {
    key, endpoint: subscription.endpoint, options: subscription.options,
    toJSON: () => subscription.toJSON(), unsubscribe: () => subscription.unsubscribe(),
  };
}
