/**
 * Hears of newer versions of the page from the moment on that it is made. What is said before
 * anybody can be told is kept: the browser gives a message once.
 */
export class ShellNews {
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

  /** @param {() => void} listener a newer version is here, and waits for a reload */
  subscribe(listener) {
    this.#listener = listener;
    if (this.#isUpdated) listener();
  }
}

/**
 * Has the page's own files kept, so that it opens without a connection, where the browser does
 * that: not over plain http.
 *
 * @param {ServiceWorkerContainer | undefined} container
 */
export async function keepShell(container) {
  if (!container) return;
  try {
    await container.register("serviceWorker.js", { updateViaCache: "none" });
  } catch {
    // Not allowed here, or no relay in reach: the page works all the same while it is open.
  }
}
