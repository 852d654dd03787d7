import { readFileSync } from "node:fs";
import vm from "node:vm";
import { IndexedStore } from "../../../Sources/WebClient/client/store/indexedStore.js";
import { FakeIndexedDB } from "../client/support/fakeIndexedDB.js";

const folder = new URL("../../../Sources/WebClient/", import.meta.url);
export const origin = "https://relay.example";

/** Time of all workers, by their clock. The time zone is UTC. */
export const workerTime = Date.UTC(2026, 2, 15, 12);

/** The page's service worker, with its scripts, in a browser that the test plays. */
export class TestWorker {
  /** Requests to the relay: `{method, path, query, body, token}`. */
  requests = [];
  /** Notifications that are shown, the last one last; and how many ever were. */
  notifications = [];
  shown = 0;
  /** Windows of the origin; see `window`. */
  windows = [];
  opened = [];
  /** Returns the relay's answer to a request: `{status, body}` or an error. */
  answer = () => new TypeError("the network is gone");
  indexedDB = new FakeIndexedDB();
  subscribed = [];
  /** Endpoints that the worker has unsubscribed. */
  ended = [];
  /** The browser's present subscription, and its permission for pushes. */
  subscription = null;
  permission = "granted";
  /** Set by a test: an error of the browser's push service. */
  pushFault = null;
  /** The browser's caches, as the page has them too. */
  caches = {
    open: async (name) => this.#cache(name), keys: async () => [],
    has: async (name) => this.#caches.has(name),
  };
  #caches = new Map();
  #listeners = new Map();

  constructor({ userAgent = "Firefox" } = {}) {
    const context = {
      btoa, URL, Response, AbortSignal, TextEncoder, crypto, indexedDB: this.indexedDB,
      navigator: { userAgent }, location: { origin },
      caches: this.caches,
      fetch: (path, request) => this.#fetch(path, request),
      clients: {
        matchAll: async () => this.windows, claim: async () => {},
        openWindow: async (url) => { this.opened.push(url); },
      },
      registration: this.#registration(),
      addEventListener: (name, act) =>
        this.#listeners.set(name, [...this.#listeners.get(name) ?? [], act]),
    };
    context.self = context;
    vm.createContext(context);
    const run = (path) => {
      const url = new URL(path, folder);
      vm.runInContext(readFileSync(url, "utf8"), context, { filename: url.pathname });
    };
    context.importScripts = (...paths) => { for (const path of paths) run(path); };
    vm.runInContext(`Date.now = () => ${workerTime};
      Date.prototype.getTimezoneOffset = () => 0;`, context);
    run("serviceWorker.js");
    this.texts = context.wakeTexts;
  }

  /** Writes the page's values, as the page does. */
  async store(values) {
    const store = await IndexedStore.open(this.indexedDB,
      { name: "lockstep", setTimer: () => {}, clearTimer: () => {} });
    const { term } = await store.claim({ holder: "page", now: 0, force: true, milliseconds: 1 });
    await store.write(term, Object.entries(values).map(([key, value]) =>
      ({ store: "values", key, value })));
    store.close();
  }

  /** Returns the page's values and records. */
  async stored() {
    const store = await IndexedStore.open(this.indexedDB,
      { name: "lockstep", setTimer: () => {}, clearTimer: () => {} });
    const { records, values } = await store.load();
    store.close();
    return { records, ...Object.fromEntries(values) };
  }

  /** Opens a window; `heard` has the worker's messages. */
  window({ path = "/", isVisible = true } = {}) {
    const window = {
      url: origin + path, visibilityState: isVisible ? "visible" : "hidden", heard: [],
      isFocused: false,
      postMessage: (message) => window.heard.push(message.kind),
      focus: async () => { window.isFocused = true; },
    };
    this.windows.push(window);
    return window;
  }

  /** Delivers a push. `content`: JSON, or text that is none. */
  push(content) {
    const text = typeof content === "string" ? content : JSON.stringify(content);
    return this.#dispatch("push", { data: { json: () => JSON.parse(text) } });
  }

  /** Delivers a declarative push as a browser that knows it does: without its bytes. Resolves with
   * the text that is shown, which is the push's own if the worker shows none. */
  async pushDeclaratively({ notification }) {
    const { shown } = this;
    await this.#dispatch("push", { data: null, notification });
    return this.shown > shown ? this.notifications.at(-1)?.body ?? null : notification.title;
  }

  /**
   * Sends the form of a share. Resolves with the address that the page is opened with; undefined if
   * the worker leaves the request to the network.
   */
  async share(form, { path = "/share", method = "POST", mode = "navigate" } = {}) {
    const request = { url: origin + path, method, mode, formData: async () => {
      if (form === null) throw new TypeError("this is no form");
      return form;
    } };
    let answer;
    await this.#dispatch("fetch", { request, respondWith: (promise) => { answer = promise; } });
    return (await answer)?.headers.get("Location");
  }

  click() {
    const notification = { ...this.notifications.at(-1), close: () => this.notifications.pop() };
    return this.#dispatch("notificationclick", { notification });
  }

  /** The browser has ended a subscription, and may have replaced it. */
  changeSubscription({ oldSubscription = null, newSubscription = null }) {
    this.subscription = newSubscription;
    return this.#dispatch("pushsubscriptionchange", { oldSubscription, newSubscription });
  }

  /** Returns a subscription that ends when the worker says so. `key`: as the relay writes it. */
  subscribes(key, endpoint = `https://push.example/${key}`) {
    this.subscription = {
      endpoint, options: key ? { applicationServerKey: keyBytes(key) } : undefined,
      toJSON: () => ({ endpoint, keys: { p256dh: "p", auth: "a" }, expirationTime: null }),
      unsubscribe: async () => {
        this.ended.push(endpoint);
        this.subscription = null;
      },
    };
    return this.subscription;
  }

  /** Returns the text of an entry of the worker's cache, null if there is none. */
  async entry(path) {
    return await (await this.#cache("lockstep wakes").match(path))?.text() ?? null;
  }

  /** Writes an entry of the worker's cache, as the page does; null removes it. */
  async setEntry(path, text) {
    const cache = this.#cache("lockstep wakes");
    await (text === null ? cache.delete(path) : cache.put(path, new Response(text)));
  }

  /** Resolves with the text that is shown, once the worker has handled the event. */
  async #dispatch(name, event) {
    const waits = [];
    for (const act of this.#listeners.get(name)) {
      act({ ...event, waitUntil: (promise) => waits.push(promise) });
    }
    await Promise.all(waits);
    return this.notifications.at(-1)?.body ?? null;
  }

  #registration() {
    return {
      showNotification: async (title, options) => {
        this.shown += 1;
        this.notifications = this.notifications.filter(({ tag }) => tag !== options.tag);
        const notification = { title, ...options, close: () => {
          this.notifications = this.notifications.filter((it) => it !== notification);
        } };
        this.notifications.push(notification);
      },
      getNotifications: async ({ tag } = {}) =>
        this.notifications.filter((it) => tag === undefined || it.tag === tag),
      pushManager: {
        getSubscription: async () => this.subscription,
        permissionState: async () => this.permission,
        subscribe: async (options) => {
          this.subscribed.push({ ...options });
          if (this.pushFault) throw this.pushFault;
          if (this.subscription) throw new Error("InvalidStateError");
          return this.subscribes(options.applicationServerKey);
        },
      },
    };
  }

  #cache(name) {
    if (!this.#caches.has(name)) this.#caches.set(name, new Map());
    const entries = this.#caches.get(name);
    return {
      match: async (of) => entries.get(of.url ? new URL(of.url).pathname : of)?.clone(),
      put: async (path, response) => { entries.set(path, response); },
      delete: async (path) => entries.delete(path),
      keys: async () => [...entries.keys()].map((path) => ({ url: origin + path })),
    };
  }

  async #fetch(path, { method = "GET", body, headers = {} }) {
    const { pathname, searchParams } = new URL(path, origin);
    const request = { method, path: pathname, query: Object.fromEntries(searchParams),
      body: body === undefined ? null : JSON.parse(body), token: headers.Authorization ?? null };
    this.requests.push(request);
    const answer = await this.answer(request);
    if (answer instanceof Error) throw answer;
    const { status = 200, body: content = null, text } = answer;
    return new Response(text ?? (content && JSON.stringify(content)), { status });
  }
}

/** The bytes of a key, as a browser keeps them. */
export const keyBytes = (text) => Uint8Array.from(Buffer.from(text, "base64url")).buffer;
