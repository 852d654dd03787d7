/**
 * What a person shares with the installed page from another app (`share_target` of the manifest).
 * It is stored in a cache at once, also without a connection; the page, which is opened then, adds
 * it to the clipboard and removes it there (`page/clipboard/sharedItems.js`).
 *
 * An entry's path is `/shared/<name>`; the name becomes that of the clipboard item, so that it is
 * added once. A text is `text/plain`; an image has its media type and, in a header, the name of its
 * file. `problem` is a header, too: the entry says why something was not kept.
 */

const sharePath = "/share";
const shareCache = "lockstep shared";
const shareLimits = {
  /** Entries that wait for the page: more are not what a person shares before looking. */
  entries: 20,
  /** Text, in UTF-16 units: at most 3 bytes each, which a record has room for. */
  text: 300_000,
  /** Bytes of one image, as in `page/limits.js`. */
  image: 16_000_000,
};

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const isShare = event.request.method === "POST" && origin === self.location.origin
    && pathname === sharePath && event.request.mode === "navigate";
  if (isShare) event.respondWith(keepShared(event.request));
});

/** Stores what was shared, and opens the clipboard. */
async function keepShared(request) {
  try {
    await keepEntries(entriesOf(await request.formData()));
  } catch {
    await keepEntries([problemEntry("unreadable")]).catch(() => {});
  }
  return Response.redirect(`${self.location.origin}/#clipboard`, 303);
}

async function keepEntries(entries) {
  const cache = await caches.open(shareCache);
  const room = shareLimits.entries - (await cache.keys()).length;
  const kept = entries.length > room
    ? [...entries.slice(0, Math.max(0, room - 1)), problemEntry("tooMany")] : entries;
  if (room <= 0) return;
  for (const entry of kept) await cache.put(`/shared/${crypto.randomUUID()}`, entry);
}

function entriesOf(form) {
  const text = sharedText(["title", "text", "url"].map((name) => form.get(name)));
  const images = form.getAll("images").filter((it) => typeof it !== "string");
  const entries = images.map((image) =>
    (image.size > shareLimits.image ? problemEntry("tooLarge") : imageEntry(image)));
  if (text.length > shareLimits.text) entries.push(problemEntry("tooLarge"));
  else if (text !== "") entries.push(textEntry(text));
  return entries;
}

/** Returns what an app sent as one text: apps often repeat the title or the address in it. */
function sharedText(parts) {
  const [title, text, url] = parts.map((it) => (typeof it === "string" ? it.trim() : ""));
  const body = url !== "" && !text.includes(url) ? [text, url] : [text];
  const isNew = title !== "" && !text.includes(title) && title !== url;
  return [...(isNew ? [title] : []), ...body].filter((it) => it !== "").join("\n");
}

const textEntry = (text) => new Response(text, { headers: { "Content-Type": "text/plain" } });

const imageEntry = (image) => new Response(image, { headers: {
  "Content-Type": image.type || "application/octet-stream",
  "Lockstep-Name": encodeURIComponent(wellFormed(image.name.slice(0, 200))),
} });

/** Replaces half a character, which an address cannot hold. */
const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

const problemEntry = (problem) => new Response("", { headers: { "Lockstep-Problem": problem } });
