/**
 * Has the page's own files kept, so that it opens without a connection, where the browser does
 * that: not over plain http.
 *
 * @param {ServiceWorkerContainer | undefined} container
 * @param {() => void} onUpdate a newer version of the page is here, and waits for a reload
 */
export async function keepShell(container, onUpdate) {
  if (!container) return;
  container.addEventListener("message", ({ data }) => {
    if (data?.kind === "shellUpdated") onUpdate();
  });
  try {
    await container.register("serviceWorker.js", { updateViaCache: "none" });
  } catch {
    // Not allowed here, or no relay in reach: the page works all the same while it is open.
  }
}
