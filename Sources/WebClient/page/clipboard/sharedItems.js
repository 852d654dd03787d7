import { t } from "../language/language.js";

/** What a service worker has stored of what was shared with the page (`worker/shares.js`). */
export class SharedItems {
  #caches;

  static cacheName = "lockstep shared";

  /** @param {CacheStorage | undefined} caches missing over plain http */
  constructor(caches) { this.#caches = caches; }

  /**
   * Returns what waits, in the order in which it was shared: `{id, text}`, `{id, image, content}`
   * or `{id, problem}`.
   */
  async all() {
    if (!this.#caches || !await this.#caches.has(SharedItems.cacheName)) return [];
    const cache = await this.#caches.open(SharedItems.cacheName);
    const items = [];
    for (const request of await cache.keys()) {
      const response = await cache.match(request);
      const id = new URL(request.url).pathname.split("/").at(-1);
      if (response) items.push({ id, ...await contentOf(response) });
    }
    return items;
  }

  async remove(id) {
    const cache = await this.#caches.open(SharedItems.cacheName);
    await cache.delete(`/shared/${id}`);
  }
}

async function contentOf(response) {
  const problem = response.headers.get("Lockstep-Problem");
  if (problem !== null) return { problem };
  const name = response.headers.get("Lockstep-Name");
  return name === null ? { text: await response.text() }
    : { image: await response.blob(), content: decodeURIComponent(name) };
}

const problems = {
  tooLarge: () => t("Something that was shared is too large for the clipboard, and was not added."),
  tooMany: () => t("Not everything that was shared was added. Share the rest again."),
};

/** Returns the sentence for what was not kept. */
export const problemText = (problem) => (Object.hasOwn(problems, problem) ? problems[problem]()
  : t("What was shared could not be read. Copy it there, and paste it here."));
