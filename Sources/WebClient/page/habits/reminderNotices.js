import { NotificationPermission } from "../notificationPermission.js";

/**
 * The browser's notifications for reminders, in one value. Tests provide their own. A page over
 * plain http gets none, and neither does an iPhone's page that is not on the home screen.
 *
 * @param {typeof globalThis} scope
 */
export function systemReminderNotices(scope = globalThis) {
  const { Notification } = scope;
  const permission = new NotificationPermission(scope);
  return {
    get obstacle() {
      if (scope.isSecureContext !== true) return "insecure";
      if (!Notification) return "unsupported";
      if (permission.value === "denied") return "blocked";
      return permission.isLeftOpen ? "leftOpen" : null;
    },

    async request() {
      if (Notification && permission.value === "default") await permission.request();
    },

    async show(body) {
      if (!Notification || permission.value !== "granted") return;
      // One tag: of two tabs that remind at once, a person sees one notification.
      const options = { body, tag: "lockstep reminder", data: { view: "habits" } };
      const worker = await scope.navigator.serviceWorker?.getRegistration();
      // Android knows only notifications of a service worker.
      if (worker?.active) await worker.showNotification("Lockstep", options);
      else new Notification("Lockstep", options);
    },
  };
}
