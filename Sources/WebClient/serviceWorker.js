/**
 * Caches the page's own files, so that the page opens at once and without a connection. Never
 * handles requests to `/v1`, which carry the account's data.
 *
 * A shell is all files of one version, in a cache that is named after their content. The worker
 * finds the files through the links of the entry page, and the imports and addresses in scripts: a
 * relay joins the modules of the page into one script, other servers need not. A page that
 * is opened gets the newest complete shell, with all its files from the same version. In the
 * background the worker checks the relay for a newer version, which the next opening gets.
 *
 * What the worker does for pushes, and for what is shared with the page, is in `worker`.
 */

importScripts("worker/wakeTexts.js", "worker/wakes.js", "worker/shares.js");

const cachePrefix = "lockstep shell ";
/** Cache and path of the entry that holds the name of the newest shell. */
const newestEntry = { cache: "lockstep shells", path: "/newest" };
/** File that every shell contains, and its content type. If it is missing, or another one comes,
 * an intermediary has answered. */
const required = { path: "/manifest.webmanifest", kind: "application/manifest+json" };
/** Paths with a hash of the content: what a browser has is right for good. */
const immutablePath = /-[0-9a-f]{16}\.(?:js|css)$/;
/** Maximum number of files, far above that of a shell: more files mean a chain of links
 * without an end. */
const filesMax = 500;
/** True for the paths of the owner's page. It is no part of a shell, and gets nothing that scripts
 * of other pages could have put into one. */
const isOwners = (pathname) => pathname === "/admin" || pathname.startsWith("/admin/");
/** Shells of the open pages, by client id. */
const shells = new Map();

self.addEventListener("install", (event) => {
  event.waitUntil(updateShell().then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const isOurs = event.request.method === "GET" && origin === self.location.origin
    && !pathname.startsWith("/v1/") && !isOwners(pathname);
  if (!isOurs) return;
  event.respondWith(respond(event, pathname));
  // If this fails (offline, or during the relay's own update), the next opening tries again.
  if (event.request.mode === "navigate") event.waitUntil(updateShell().catch(() => {}));
});

async function respond(event, pathname) {
  if (event.request.mode === "navigate") shells.set(event.resultingClientId, await newestShell());
  const shell = shells.get(event.resultingClientId || event.clientId)
    ?? await shellOf(event.clientId);
  const cached = shell && await (await caches.open(shell)).match(pathname);
  return cached ?? await fileOfOtherShell(shell, pathname) ?? fetch(event.request);
}

/** Returns what a page of the previous shell loads late. A worker that was stopped meanwhile does
 * not know the page's shell any more, and the relay may no longer have the file. */
async function fileOfOtherShell(shell, pathname) {
  if (!shell || !immutablePath.test(pathname)) return undefined;
  for (const name of await caches.keys()) {
    const cached = name.startsWith(cachePrefix) && await (await caches.open(name)).match(pathname);
    if (cached) return cached;
  }
  return undefined;
}

/** Returns the shell of a page that this worker has not opened; null for the owner's page. */
async function shellOf(clientId) {
  const client = clientId ? await self.clients.get(clientId) : undefined;
  return client && isOwners(new URL(client.url).pathname) ? null : newestShell();
}

async function newestShell() {
  const entry = await (await caches.open(newestEntry.cache)).match(newestEntry.path);
  return entry ? entry.text() : null;
}

/** Stores the relay's files if they differ from those of the newest shell. */
async function updateShell() {
  const [files, previous] = [await shellFiles(), await newestShell()];
  const name = cachePrefix + await digest(files);
  if (name === previous) return;
  // A relay that is being replaced could return files of both versions.
  const isStable = cachePrefix + await digest(await shellFiles()) === name;
  if (!isStable) throw new Error("the files are changing");
  const cache = await caches.open(name);
  await Promise.all([...files].map(([path, { response }]) => cache.put(path, response)));
  await (await caches.open(newestEntry.cache)).put(newestEntry.path, new Response(name));
  await deleteOtherShells([name, previous]);
  if (!previous) return;
  for (const client of await self.clients.matchAll()) client.postMessage({ kind: "shellUpdated" });
}

/** Deletes all shells except `used`: the newest, and the previous one, which open pages may still
 * use. */
async function deleteOtherShells(used) {
  for (const name of await caches.keys()) {
    if (name.startsWith(cachePrefix) && !used.includes(name)) await caches.delete(name);
  }
}

/** Returns all files of the page by path, beginning with the entry page. */
async function shellFiles() {
  const files = new Map();
  const found = ["/"];
  for (const path of found) {
    if (files.has(path)) continue;
    if (files.size >= filesMax) throw new Error("the page links too many files");
    const file = await readFile(path);
    files.set(path, file);
    found.push(...file.links);
  }
  if (files.get(required.path)?.kind !== required.kind) {
    throw new Error("the answer is not from the relay");
  }
  return files;
}

/** Patterns of links, by content type. */
const links = {
  "text/html": /(?:href|src)="([^"#:]+)"/g,
  // Also the script of a worker: `new URL("…", import.meta.url)`.
  "text/javascript": /\b(?:from|import|URL)\s*\(?"(\.[^"]+)"/g,
  // Without the screenshots, which a browser shows only while it installs the page.
  "application/manifest+json": /"src":\s*"(?!screenshots\/)([^"]+)"/g,
};

async function readFile(path) {
  const cache = immutablePath.test(path) ? "default" : "no-cache";
  const response = await fetch(path, { cache, redirect: "error" });
  const kind = (response.headers.get("Content-Type") ?? "").split(";")[0];
  const isGood = response.ok && (!path.endsWith(".js") || kind === "text/javascript");
  if (!isGood) throw new Error(`${path} is not available`);
  const text = await response.clone().text();
  const targets = [...text.matchAll(links[kind] ?? /$^/g)].map(([, target]) =>
    new URL(target, new URL(path, self.location.origin)));
  return {
    response, text, kind,
    links: targets.filter(({ origin }) => origin === self.location.origin)
      .map(({ pathname }) => pathname),
  };
}

/** Returns one short name for the content of all files. */
async function digest(files) {
  const all = [...files].sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([path, { text }]) => `${path}\n${text.length}\n${text}`).join("\n");
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(all));
  return Array.from(new Uint8Array(hash, 0, 16), (byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
