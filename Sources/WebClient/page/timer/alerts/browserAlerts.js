import { NotificationPermission } from "../../notificationPermission.js";

/** Tag of the page's notification about a countdown, so that each replaces the last. */
const endTag = "lockstep timer";
/** Tag of the notification about changes, as in `worker/wakes.js`. */
const changesTag = "lockstep changes";

/**
 * The browser's notifications and vibration for the end of a countdown, in one value. Tests provide
 * their own.
 *
 * @param {typeof globalThis} scope
 */
export function systemAlerts(scope = globalThis) {
  const { navigator } = scope;
  const registration = () => navigator?.serviceWorker?.getRegistration();
  const permission = new NotificationPermission(scope);
  return {
    canVibrate: typeof navigator?.vibrate === "function"
      && scope.matchMedia?.("(pointer: coarse)").matches === true,
    /** `granted`, `denied`, `default`; `missing` where the browser has no notifications, or this
     * page may have none. */
    get permission() {
      const hasThem = scope.isSecureContext === true && navigator?.serviceWorker
        && scope.Notification;
      return hasThem ? permission.value : "missing";
    },
    requestPermission: () => permission.request(),
    /** Returns true if the device vibrates. Browsers allow it only after a press. */
    vibrate(pulses) {
      if (!this.canVibrate || navigator.userActivation?.hasBeenActive === false) return false;
      return navigator.vibrate(pulses);
    },
    /** True if the service worker has told of the timer at or after an instant of relay time: the
     * page was asleep, and the relay has sent a push. */
    async isTold(instant) {
      try {
        const found = await registration();
        const shown = await found?.getNotifications?.({ tag: changesTag }) ?? [];
        return shown.some(({ data }) => data?.view === "timer" && data.at >= instant);
      } catch {
        return false;
      }
    },
    /** Where the browser shows none after all, the sound and the notice are what there is. */
    async show(words, { isSilent }) {
      if (this.permission !== "granted") return;
      try {
        const found = await registration();
        await found?.showNotification("Lockstep", { body: words, tag: endTag, renotify: true,
          silent: isSilent, icon: "/page/icons/touch.png", data: { view: "timer" } });
      } catch {
        // Refused, as after the person has withdrawn the permission in this moment.
      }
    },
  };
}
