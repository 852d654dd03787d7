/**
 * Keeps the page's own files, so that it opens at once and without a connection. What an account
 * holds is not its affair: `/v1` goes past it.
 *
 * A shell is all files of one version, in a cache that is named after what is in them. Which files
 * those are it finds by itself: what the entry links and the modules import. A page that is opened
 * gets the newest whole shell, and all of its files from that one; behind its back the relay is
 * asked whether there is a newer, which the next opening gets.
 */

const stem = "lockstep shell ";
/** The cache that says which shell is the newest. */
const pointer = { cache: "lockstep shells", path: "/newest" };
/** What every shell has. Where it is missing, something else on the way has answered. */
const heart = "/page/main.js";
/** Far more than a shell has: what links without an end is none. */
const filesMost = 500;
/** Which shell a page that is being opened gets. */
const shells = new Map();

self.addEventListener("install", (event) => {
  event.waitUntil(renew().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const isOurs = event.request.method === "GET" && origin === self.location.origin
    && !pathname.startsWith("/v1/");
  if (!isOurs) return;
  event.respondWith(answer(event, pathname));
  // Offline, or in the middle of the relay's own update: the next opening tries again.
  if (event.request.mode === "navigate") event.waitUntil(renew().catch(() => {}));
});

async function answer(event, pathname) {
  if (event.request.mode === "navigate") shells.set(event.resultingClientId, await newest());
  const shell = shells.get(event.resultingClientId || event.clientId) ?? await newest();
  const kept = shell && await (await caches.open(shell)).match(pathname);
  return kept ?? fetch(event.request);
}

async function newest() {
  const said = await (await caches.open(pointer.cache)).match(pointer.path);
  return said ? said.text() : null;
}

/** Takes the relay's files where they are others than those of the newest shell. */
async function renew() {
  const [files, former] = [await shellFiles(), await newest()];
  const name = stem + await digest(files);
  if (name === former) return;
  // A relay that is just being replaced could give some files of each version.
  if (stem + await digest(await shellFiles()) !== name) throw new Error("the files are changing");
  const cache = await caches.open(name);
  await Promise.all([...files].map(([path, { response }]) => cache.put(path, response)));
  await (await caches.open(pointer.cache)).put(pointer.path, new Response(name));
  await forget([name, former]);
  if (!former) return;
  for (const client of await self.clients.matchAll()) client.postMessage({ kind: "shellUpdated" });
}

/** Pages that are open may still use the former shell. */
async function forget(used) {
  for (const name of await caches.keys()) {
    if (name.startsWith(stem) && !used.includes(name)) await caches.delete(name);
  }
}

/** By path, from the entry on, all files that the page is made of. */
async function shellFiles() {
  const files = new Map();
  const found = ["/"];
  for (const path of found) {
    if (files.has(path)) continue;
    if (files.size >= filesMost) throw new Error("the page links too many files");
    const file = await readFile(path);
    files.set(path, file);
    found.push(...file.links);
  }
  if (!files.has(heart)) throw new Error("what answered is not the relay");
  return files;
}

/** What links, by the kind of file. */
const links = {
  "text/html": /(?:href|src)="([^"#:]+)"/g,
  "text/javascript": /\b(?:from|import)\s*\(?"(\.[^"]+)"/g,
  "application/manifest+json": /"src":\s*"([^"]+)"/g,
};

async function readFile(path) {
  const response = await fetch(path, { cache: "no-cache", redirect: "error" });
  const kind = (response.headers.get("Content-Type") ?? "").split(";")[0];
  const isGood = response.ok && (!path.endsWith(".js") || kind === "text/javascript");
  if (!isGood) throw new Error(`${path} is not to be had`);
  const text = await response.clone().text();
  const targets = [...text.matchAll(links[kind] ?? /$^/g)].map(([, target]) =>
    new URL(target, new URL(path, self.location.origin)));
  return {
    response, text,
    links: targets.filter(({ origin }) => origin === self.location.origin)
      .map(({ pathname }) => pathname),
  };
}

/** One short name for all that is in the files. */
async function digest(files) {
  const all = [...files].sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, { text }]) => `${path}\n${text.length}\n${text}`).join("\n");
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(all));
  return Array.from(new Uint8Array(hash, 0, 16), (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
