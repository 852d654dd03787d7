import assert from "node:assert/strict";
import test from "node:test";
import { ImageFault, ImageOutbox }
  from "../../../Sources/WebClient/page/clipboard/imageOutbox.js";
import { PageStore } from "../../../Sources/WebClient/page/store/pageStore.js";

// Images that wait in a browser until the relay has their content.

const file = { name: "a", bytes: 3, chunks: ["ab".repeat(32)] };
const image = (id) => ({ id, content: `${id}.png`, imageType: "image/png", thumbnail: null,
  bytes: new Uint8Array([1, 2, 3]).buffer });

/** A page whose relay the test plays. */
class Page {
  status = { accountID: "account", state: "offline" };
  now = 1_000;
  /** Actions that became records. */
  acts = [];
  uploads = [];
  timers = [];
  /** Set by a test: an error of the next uploads. */
  fault = null;
  #listeners = [];
  #lock = Promise.resolve();

  constructor(pageStore = new PageStore(undefined)) {
    this.browser = {
      pageStore, clearTimer: () => { this.timers = []; },
      setTimer: (act, milliseconds) => this.timers.push({ act, milliseconds }),
      alone: (name, act) => (this.#lock = this.#lock.then(act)),
    };
    this.lockstep = { files: { upload: async (zone, blob, { name }) => {
      this.uploads.push([zone, blob.type, blob.size, name]);
      if (this.fault) throw this.fault;
      return { file };
    } } };
    this.outbox = new ImageOutbox(this, () => {});
  }

  subscribe(listener) { this.#listeners.push(listener); }

  async act(app, action) { this.acts.push(action); }

  async becomes(status) {
    this.status = { ...this.status, ...status };
    for (const listener of this.#listeners) listener({ kind: "status" });
    await settled();
  }
}

/** Resolves once everything that can go on has gone on. */
const settled = () => new Promise((resolve) => { setImmediate(resolve); });

const ids = ({ outbox }) => outbox.images.map(({ id }) => id);

test("an image waits for a connection, and is an item then", async () => {
  const page = new Page();
  await page.outbox.add(image("one"));
  page.now += 1;
  await page.outbox.add(image("two"));
  await settled();
  assert.deepEqual([ids(page), page.uploads], [["two", "one"], []]);
  await page.becomes({ state: "inSync" });
  assert.deepEqual(page.uploads, [["Clipboard", "image/png", 3, "one.png"],
    ["Clipboard", "image/png", 3, "two.png"]]);
  assert.deepEqual(page.acts[0], { do: "addImage", name: "one", content: "one.png", image: file,
    imageType: "image/png", thumbnail: null });
  assert.deepEqual([ids(page), await page.browser.pageStore.all("images")], [[], []]);
  await page.outbox.add(image("three"));
  await settled();
  assert.deepEqual([ids(page), page.acts.length], [[], 3]);
});

test("what waits is there after a reload, for its account alone", async () => {
  const before = new Page();
  await before.outbox.add(image("one"));
  const after = new Page(before.browser.pageStore);
  await settled();
  assert.deepEqual(ids(after), ["one"]);
  await after.becomes({ accountID: "another", state: "inSync" });
  assert.deepEqual([ids(after), after.uploads], [[], []]);
});

test("a refused image says why, does not hold up others, and is tried again later", async () => {
  const page = new Page();
  await page.outbox.add(image("one"));
  page.fault = Object.assign(new Error("the account has no room for this; delete files first"),
    { name: "RefusedError", code: "quotaExceeded" });
  await page.becomes({ state: "inSync" });
  assert.match(page.outbox.images[0].problem, /^The account has no room .*\.$/);
  await page.becomes({ state: "inSync" });
  assert.equal(page.uploads.length, 1, "not with every change of the status");
  page.fault = null;
  await page.outbox.add(image("two"));
  await settled();
  assert.deepEqual(ids(page), ["one"]);
  assert.deepEqual(page.timers.map(({ milliseconds }) => milliseconds), [30_000]);
  page.now += 30_000;
  await page.timers[0].act();
  assert.deepEqual(ids(page), []);
  assert.deepEqual(page.acts.map(({ name }) => name), ["two", "one"]);
});

test("an image that did not reach the relay goes with the next connection", async () => {
  const page = new Page();
  await page.outbox.add(image("one"));
  page.fault = Object.assign(new Error("no answer"), { name: "CallError" });
  await page.becomes({ state: "syncing" });
  assert.ok(page.uploads.length > 0);
  assert.equal(page.outbox.images[0].problem, undefined);
  page.fault = null;
  await page.becomes({ state: "inSync" });
  assert.deepEqual([page.acts.length, ids(page)], [1, []]);
});

test("what is deleted while it is sent becomes no item", async () => {
  const page = new Page();
  await page.outbox.add(image("one"));
  const { upload } = page.lockstep.files;
  page.lockstep.files.upload = async (...request) => {
    await page.outbox.remove("one");
    return upload(...request);
  };
  await page.becomes({ state: "inSync" });
  assert.deepEqual([page.uploads.length, page.acts, ids(page)], [1, [], []]);
});

test("a limited number waits, and a full disk is told", async () => {
  const page = new Page();
  for (let number = 0; number < 20; number += 1) await page.outbox.add(image(`${number}`));
  await assert.rejects(page.outbox.add(image("more")), ImageFault);
  await page.outbox.remove("0");
  page.browser.pageStore.put = () => Promise.reject(new Error("QuotaExceededError"));
  await assert.rejects(page.outbox.add(image("full")), /no room to keep the image/);
  assert.equal(ids(page).includes("full"), false);
});
