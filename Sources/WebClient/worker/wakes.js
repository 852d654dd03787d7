/**
 * Wakes by Web Push (docs/protocol.md, "Wakes"), also while no page is open: proves that pushes
 * arrive, and tells the person in one notification what has changed.
 *
 * The worker reads the page's store and the relay, and never writes to the store. To apply changes
 * it would need the client's merge rules, whose modules a classic script cannot import (not all
 * browsers have modules in service workers), and the lead among the tabs, which a page in the
 * background may hold. What it has read is in a cache of its own: the page applies it at its next
 * start, before it has a connection (`page/wakes/readAhead.js`), and until then its cursor stays
 * where it is.
 *
 * Browsers allow no silent push: each one that no visible page handles shows a notification, and it
 * replaces the last. The push that proves a renewed subscription has no news, so it leaves those
 * that are shown as they are. No browser lets a worker set a time for a notification. So the end of
 * a countdown is told when a device that is connected writes it and the relay wakes this one.
 *
 * For Safari, wakes are declarative push messages: the event has the notification that Safari shows
 * if the worker shows none, and the wake as its `data`. Older versions of Safari, and other
 * browsers, give the worker the whole message.
 */

/** Id of the registration, as in `Lockstep.registerWake`. */
const wakeID = "page";
/** Name of the page's store, and of the values in it that are read. */
const home = { store: "lockstep", values: ["identity", "cursor", "clock.offset"] };
/** Cache with the entries below. The page deletes it when the browser leaves the account. */
const wakeCache = "lockstep wakes";
/** Path of the entry that holds what was told: `{deviceID, cursor, through, summary, read,
 * readThrough}`. `cursor`: the page's cursor at that time; once it moves, the page has shown the
 * changes. `read`: the relay's answers from the cursor up to `readThrough`, as texts. */
const toldPath = "/told";
/** Path of the mark that the person wants wakes, which outlives the subscription: the endpoint that
 * the relay accepted last, or an empty text. The page has it too (`page/wakes/browserPush.js`). */
const wantedPath = "/wanted";
/** Path of the entry that is there from the person's choice of wakes until their proof is shown. */
const choicePath = "/choice";
/** Pages of changes that are read for one notification, and the records of each. */
const wakePages = { max: 5, records: 200 };
/** Characters of all answers that are kept for the page; it reads the rest from the relay. */
const readCharacters = 2 << 20;
/** Time for all requests of one push; browsers end the worker after about 30 seconds. */
const wakeMilliseconds = 15_000;
/** Browsers with WebKit count each push without a notification, also while the page is visible, and
 * end the subscription at the third. */
const mustNotify = /AppleWebKit\/(?!.*Chrome\/)/u.test(self.navigator.userAgent);
const notificationTag = "lockstep changes";
/** Tag of the notification for the proof of a renewed subscription. */
const renewalTag = "lockstep renewal";
/** Cache and path of the entry with the page's language, which the page writes
 * (`page/wakes/browserPush.js`). */
const languageEntry = { cache: "lockstep language", path: "/language" };

self.addEventListener("push", (event) => event.waitUntil(handlePush(event)));

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(openPage(event.notification.data?.view ?? ""));
});

self.addEventListener("pushsubscriptionchange", (event) =>
  event.waitUntil(keepRegistered(AbortSignal.timeout(wakeMilliseconds), event)));

async function handlePush(event) {
  const { c: code, t: token, k: newKey } = readMessage(event);
  const signal = AbortSignal.timeout(wakeMilliseconds);
  const pages = await openPages();
  if (typeof code === "string") {
    await handleCode(code, signal, pages);
    for (const page of pages) page.postMessage({ kind: "wake" });
    return;
  }
  for (const page of pages) page.postMessage({ kind: "wake" });
  if (areInView(pages)) {
    await notifyBriefly((await readTexts()).arrived);
  } else {
    const news = await newsOf(token, signal)
      .catch(async () => ({ text: (await readTexts()).something }));
    await notify({ ...news, isDeclarative: Boolean(event.notification) });
  }
  // At the end: a browser may take long to subscribe, and must have shown a notification.
  if (typeof newKey === "string") await keepRegistered(signal).catch(() => {});
}

/** Returns the texts of the page's language; those in English if it cannot be read. */
async function readTexts() {
  try {
    const entry = await (await caches.open(languageEntry.cache)).match(languageEntry.path);
    return wakeTexts.textsIn(await entry?.text());
  } catch {
    return wakeTexts.textsIn("en");
  }
}

/** Returns what Safari shows if it did not run the worker, as in `page/wakes/browserPush.js`; null
 * for other browsers. */
async function fallback() {
  const isShown = mustNotify && /^https:\/\/.{1,151}$/u.test(self.location.origin);
  return isShown ? { title: (await readTexts()).inLockstep, navigate: `${self.location.origin}/` }
    : null;
}

/** Returns an empty message for one of another version, and for text that is not the relay's. */
function readMessage({ data, notification }) {
  try {
    const whole = notification ? { notification } : data.json();
    const message = whole?.notification?.data ?? whole;
    return message?.v === 1 ? message : {};
  } catch {
    return {};
  }
}

/** Sends the code back. Shows a person who has turned wakes on that notifications arrive. */
async function handleCode(code, signal, pages) {
  const isProved = await sendBack(code, signal).then(() => true, () => false);
  const cache = await caches.open(wakeCache);
  if (!await cache.match(choicePath)) return notifyOfRenewal(isProved, pages);
  if (isProved) await cache.delete(choicePath);
  const { works, failed } = await readTexts();
  return notify({ text: isProved ? works : failed, view: "devices" });
}

async function sendBack(code, signal) {
  const { token } = (await readHome()).identity;
  const path = `/v1/wakes/${wakeID}/verification`;
  await request(path, { token, method: "POST", body: { code }, signal });
}

/** Returns the text about all changes since the page last read them. `newest`: token of the
 * wake. */
async function newsOf(newest, signal) {
  const { identity, cursor, "clock.offset": offset = 0 } = await readHome();
  // Without a cursor the page has to read everything first.
  if (typeof cursor !== "string") throw new Error("the page has not read the account's records");
  const { deviceID, token } = identity;
  const read = (since, limit) =>
    readChanges(`since=${encodeURIComponent(since)}&limit=${limit}`, { token, signal })
      .catch(async (error) => {
        // The relay does not know the position any more: the next wake begins at the page's.
        if ([400, 410].includes(error.status)) await forgetTold();
        throw error;
      });
  const last = await readTold();
  const isContinued = last?.deviceID === deviceID && last.cursor === cursor;
  let { through, summary, read: texts = [], readThrough = cursor } = isContinued ? last
    : { through: cursor, summary: wakeTexts.nothing };
  const { timer } = summary;
  let page = { changes: [], more: true };
  for (let count = 0; page.more && count < wakePages.max; count += 1) {
    const answer = await read(through, wakePages.records);
    page = answer.page;
    const fits = texts.reduce((sum, { length }) => sum + length, answer.text.length)
      <= readCharacters;
    if (page.changes.length > 0 && through === readThrough && fits) {
      texts = [...texts, answer.text];
      readThrough = page.token;
    }
    summary = wakeTexts.added(summary, page.changes, deviceID);
    through = page.token;
  }
  if (page.more) {
    summary = { ...summary, isMore: true };
    if (typeof newest === "string") through = newest;
  }
  const told = { deviceID, cursor, through, summary, read: texts, readThrough };
  // A browser that has no room for what was read may have room for the rest.
  await writeTold(told).catch(() => writeTold({ ...told, read: [], readThrough: cursor }));
  // A request shows the relay what the device has. Without it, the relay repeats the wake.
  await read(through, 1).catch(() => {});
  const clock = { now: Date.now() + offset,
    minutesAhead: (instant) => -new Date(instant).getTimezoneOffset() };
  // A notification that replaces another is silent, except at a change of the timer.
  return { ...wakeTexts.told(summary, clock, await readTexts()), at: clock.now,
    isAlert: summary.timer !== timer };
}

/** Returns the relay's answer as its text and as the page that it contains. */
async function readChanges(query, options) {
  const text = await (await request(`/v1/changes?${query}`, options)).text();
  const page = JSON.parse(text);
  const isPage = typeof page?.token === "string" && Array.isArray(page.changes)
    && page.changes.every((it) => typeof it?.zone === "string" && typeof it.name === "string");
  if (!isPage) throw new Error("the answer is not from the relay");
  return { text, page };
}

async function request(path, { token, method = "GET", body, signal }) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method, headers, body: body && JSON.stringify(body), signal, credentials: "omit",
    cache: "no-store", redirect: "error", referrerPolicy: "no-referrer",
  });
  if (!response.ok) {
    const { status } = response;
    throw Object.assign(new Error(`${path} was answered with status ${status}`), { status });
  }
  return response;
}

/** Reads the page's values; fails if it belongs to no account. */
async function readHome() {
  const database = await openHome();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = database.transaction(["values"], "readonly");
      const values = transaction.objectStore("values");
      const reads = home.values.map((name) => values.get(name));
      transaction.onabort = () => reject(transaction.error);
      transaction.oncomplete = () => {
        const found = reads.map(({ result }, index) => [home.values[index], result]);
        const isPaired = found[0][1] !== undefined;
        if (isPaired) resolve(Object.fromEntries(found));
        else reject(new Error("this browser belongs to no account"));
      };
    });
  } finally {
    // An open connection would keep a later version of the page from upgrading the store.
    database.close();
  }
}

function openHome() {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(home.store);
    // There is no store. The page would take an empty one of this version for its own.
    opening.onupgradeneeded = () => opening.transaction.abort();
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => resolve(opening.result);
  });
}

async function readTold() {
  const entry = await (await caches.open(wakeCache)).match(toldPath);
  return entry ? entry.json() : null;
}

/** Fails, and keeps nothing, if the browser has left the account meanwhile. */
async function writeTold(told) {
  await (await caches.open(wakeCache)).put(toldPath, new Response(JSON.stringify(told)));
  try {
    // The page erases its store first, then this cache: one of the two sees the other.
    const { identity } = await readHome();
    if (identity.deviceID !== told.deviceID) throw new Error("this browser has another account");
  } catch (error) {
    await forgetTold();
    throw error;
  }
}

async function forgetTold() { await (await caches.open(wakeCache)).delete(toldPath); }

/** Returns the endpoint that the relay accepted last, "" if none, null if no wakes are wanted. */
async function readWanted() {
  const entry = await (await caches.open(wakeCache)).match(wantedPath);
  return entry ? entry.text() : null;
}

async function writeWanted(endpoint) {
  await (await caches.open(wakeCache)).put(wantedPath, new Response(endpoint));
}

/** Pages of Lockstep itself: the owner of the relay may have others below `/pages/`. */
async function openPages() {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return windows.filter(({ url }) => new URL(url).pathname === "/");
}

const areInView = (pages) => pages.some(({ visibilityState }) => visibilityState === "visible");

/** `at`: instant of relay time up to which it tells, so that a page does not tell the same again.
 * `isDeclarative`: it takes the place of a declarative push's own, so it needs a URL too, which
 * the browser opens after a click, without the worker. */
async function notify({ text, view = "", at, isAlert = false, isDeclarative = false }) {
  const address = new URL(view ? `/#${view}` : "/", self.location.origin).href;
  await closeAll(renewalTag);
  await self.registration.showNotification("Lockstep", {
    body: text, tag: notificationTag, renotify: isAlert, icon: "/page/icons/touch.png",
    data: { view, at }, ...(isDeclarative ? { navigate: address } : {}),
  });
}

/** Shows a notification and removes it at once, where a browser requires one for each push. */
async function notifyBriefly(text) {
  if (!mustNotify) return;
  const tag = "lockstep in view";
  await self.registration.showNotification("Lockstep",
    { body: text, tag, silent: true, navigate: `${self.location.origin}/` });
  await closeAll(tag);
}

async function closeAll(tag) {
  for (const it of await self.registration.getNotifications({ tag })) it.close();
}

/** Shows as little as a browser allows for a push without news. Chrome and Firefox are content with
 * a page in view, and with a notification that is already there; WebKit counts each push. */
async function notifyOfRenewal(isProved, pages) {
  const { renewed, renew } = await readTexts();
  const text = isProved ? renewed : renew;
  if (mustNotify) return notifyBriefly(text);
  const shown = await self.registration.getNotifications();
  if (areInView(pages) || shown.length > 0) return;
  await self.registration.showNotification("Lockstep", { body: text, tag: renewalTag, silent: true,
    icon: "/page/icons/touch.png", data: { view: "devices" } });
}

async function openPage(view) {
  const [page] = await openPages();
  if (!page) return self.clients.openWindow(view ? `/#${view}` : "/");
  page.postMessage({ kind: "open", view });
  return page.focus();
}

/**
 * Subscribes and registers where the browser's subscription, the relay's key and the registration
 * do not agree. If this fails at any step, the mark stays, and the page does it when it is opened.
 *
 * `newSubscription`, `oldSubscription`: of the event by which the browser replaced or ended one.
 */
async function keepRegistered(signal, { newSubscription, oldSubscription } = {}) {
  const { pushManager } = self.registration;
  if (await pushManager.permissionState({ userVisibleOnly: true }) !== "granted") {
    const cache = await caches.open(wakeCache);
    for (const path of [wantedPath, choicePath]) await cache.delete(path);
    return;
  }
  const { token } = (await readHome()).identity;
  const accepted = await readWanted();
  const former = newSubscription ?? await pushManager.getSubscription();
  // Earlier versions made no mark.
  if (accepted === null && !former && !oldSubscription) return;
  if (accepted === null) await writeWanted("");
  // The former subscription stays if the relay gives no answer, and would accept no other.
  const wakeKey = await readKey(signal);
  if (typeof wakeKey !== "string") return;
  const subscription = await subscriptionFor(wakeKey, former);
  const { endpoint } = subscription.toJSON();
  if (endpoint === accepted) return;
  if (await readWanted() !== null) await register(subscription, { token, signal });
  // The person may have turned wakes off in the meantime.
  if (await readWanted() !== null) await writeWanted(endpoint);
  else await subscription.unsubscribe();
}

/** Returns `former`, or in its place a subscription for another key: a browser has one at a time,
 * and refuses another key while it has it. */
async function subscriptionFor(wakeKey, former) {
  if (former && [null, wakeKey].includes(subscribedKey(former))) return former;
  await former?.unsubscribe();
  return self.registration.pushManager.subscribe(
    { userVisibleOnly: true, applicationServerKey: wakeKey });
}

async function register(subscription, { token, signal }) {
  const { endpoint, keys, expirationTime } = subscription.toJSON();
  const ends = Number.isFinite(expirationTime) ? { expiresAt: Math.floor(expirationTime) } : {};
  const wakeKey = subscribedKey(subscription);
  const notification = await fallback();
  const body = { kind: "webpush", endpoint, p256dh: keys.p256dh, auth: keys.auth,
    ...wakeKey && { wakeKey }, ...ends, ...notification && { notification } };
  await request(`/v1/wakes/${wakeID}`, { token, method: "PUT", body, signal });
}

async function readKey(signal) {
  return (await (await request("/v1/limits", { signal })).json()).wakeKey;
}

/** The relay's key for which the browser has subscribed, as the relay writes it; null if the
 * subscription does not tell. */
function subscribedKey({ options }) {
  if (!options?.applicationServerKey) return null;
  const bytes = new Uint8Array(options.applicationServerKey);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
