/**
 * Receives messages about newer versions of the page, from its construction on. A message that
 * arrives before `subscribe` is kept, because the browser sends it only once.
 */
export class ShellUpdates {
  #isUpdated = false;
  #listener = null;

  /** @param {ServiceWorkerContainer | undefined} container */
  constructor(container) {
    container?.addEventListener("message", ({ data }) => {
      if (data?.kind !== "shellUpdated") return;
      if (this.#listener) this.#listener();
      else this.#isUpdated = true;
    });
  }

  /** @param {() => void} listener called when a newer version is ready for a reload */
  subscribe(listener) {
    this.#listener = listener;
    if (this.#isUpdated) listener();
  }
}

/**
 * Registers the service worker, which caches the page's files, so that the page opens without a
 * connection. Browsers do not support this over plain http.
 *
 * @param {ServiceWorkerContainer | undefined} container
 */
export async function registerServiceWorker(container) {
  if (!container) return;
  try {
    await container.register("serviceWorker.js", { updateViaCache: "none" });
  } catch {
    // Not allowed here, or the relay is unreachable: the open page works anyway.
  }
}
