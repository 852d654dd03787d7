import assert from "node:assert/strict";
import test from "node:test";
import { VaultContents } from "../../../Sources/WebClient/apps/vault/vaultContents.js";
import { CallError, FileError } from "../../../Sources/WebClient/lockstep.js";
import { chinese } from "../../../Sources/WebClient/page/language/chinese.js";
import { japanese } from "../../../Sources/WebClient/page/language/japanese.js";
import { setLanguage } from "../../../Sources/WebClient/page/language/language.js";
import { limits } from "../../../Sources/WebClient/page/limits.js";
import { PageStore } from "../../../Sources/WebClient/page/store/pageStore.js";
import { sizeText } from "../../../Sources/WebClient/page/text/size.js";
import { eventsWith, VaultHistory }
  from "../../../Sources/WebClient/page/vault/vaultHistory.js";
import { fileRows, limitText, shownType, transferRow }
  from "../../../Sources/WebClient/page/vault/vaultModel.js";
import { VaultTransfers } from "../../../Sources/WebClient/page/vault/vaultTransfers.js";

const hash = (letter) => letter.repeat(64);

const record = (name, letter, modifiedAt = 1_000) => ({
  zone: "Vault", name, type: "VaultFile", modifiedAt, device: "pc",
  fields: { name, bytes: 1, chunks: [hash(letter)], seal: { zone: "Vault", key: "0".repeat(16) },
    sha256: hash(letter), parts: "A".repeat(43) },
});

const copyName = "a_conflict_1970-01-01T00-00-01.000Z.db";

function rowsOf(records, more = {}) {
  const contents = new VaultContents(
    { records, device: "web", deviceNames: { pc: "laptop" } }, { isZoneSealed: true });
  return fileRows(contents, { unsent: new Set(), refused: new Map(), missing: new Set(),
    isFetching: () => false, now: 400_000, minutesAhead: 0, ...more });
}

test("a copy stands beside its file, and alone if the file is gone", () => {
  const [row, ...others] = rowsOf([record("a.db", "1"), record(copyName, "2")]);
  assert.deepEqual([row.file, row.copyOf, others.length], ["a.db", null, 0]);
  assert.equal(row.about, "1 byte, changed 6 min ago by laptop");
  assert.deepEqual(row.copies.map(({ key, isNeedless }) => [key, isNeedless]), [[copyName, false]]);
  assert.equal(rowsOf([record("a.db", "1"), record(copyName, "1")])[0].copies[0].isNeedless, true);
  const [alone] = rowsOf([record(copyName, "2")]);
  assert.deepEqual([alone.file, alone.copyOf, alone.copies], [copyName, "a.db", []]);
});

test("the state of a file is the worst of what is known", () => {
  const words = (more) => rowsOf([record("a.db", "1")], more)[0].state.words;
  assert.equal(words({}), "In step");
  const missing = new Set([hash("1")]);
  assert.equal(words({ missing }), "Waits for a device to send its content");
  const unsent = new Set(["a.db"]);
  assert.equal(words({ missing, unsent }), "Not sent yet");
  assert.match(words({ unsent, refused: new Map([["a.db", "It is too large."]]) }),
    /^The relay does not accept it: It is too large/u);
});

test("only files of which nothing can run are opened", () => {
  for (const [file, type] of [["a.PNG", "image/png"], ["b.pdf", "application/pdf"],
    ["c.d.txt", "text/plain;charset=utf-8"]]) {
    assert.equal(shownType(file), type);
  }
  for (const file of ["a.html", "a.svg", "a.xhtml", "a.xml", "a.js", "a", "png", "a.constructor",
    "a.png.html", ".", "a.htm", "a.mht"]) {
    assert.equal(shownType(file), null, file);
  }
});

test("sizes are in the units of the terminal", () => {
  assert.deepEqual([0, 1, 1_023, 1_024, 1_048_570, 1_048_576, 2 ** 30].map(sizeText),
    ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "1.0 MiB", "1.0 MiB", "1.0 GiB"]);
});

test("what a browser cannot do is said in whole sentences, with the next step", () => {
  assert.equal(limitText({ isZoneSealed: true, noKeyCount: 0, malformedCount: 0 }), "");
  const plain = limitText({ isZoneSealed: false, noKeyCount: 1, malformedCount: 0 });
  assert.match(plain, /not sealed.*lockstep agent seal Vault.*One file.*lockstep on a computer/su);
  assert.match(limitText({ isZoneSealed: true, noKeyCount: 0, malformedCount: 2 }),
    /^2 files cannot be read/u);
});

test("in Chinese and Japanese the sentences stand without a space, each with its values", () => {
  const vault = { isZoneSealed: false, noKeyCount: 1, malformedCount: 2 };
  const running = { key: "1", file: "a", state: "running", doneBytes: 512, totalBytes: 1_024 };
  try {
    for (const [language, table, count, share] of [
      ["zh-Hans", chinese, "有 1 个文件", "50%，共 1.0 KiB"],
      ["ja", japanese, "1件のファイル", "1.0 KiB 中 50%"],
    ]) {
      setLanguage(language, table);
      assert.doesNotMatch(limitText(vault), /。 /u);
      assert.ok(limitText(vault).includes(count), limitText(vault));
      assert.ok(limitText(vault).includes("lockstep agent seal Vault"), limitText(vault));
      assert.equal(transferRow(running).words, share);
    }
  } finally {
    setLanguage("en", Object.freeze({}));
  }
});

test("a transfer shows its share, and why it waits", () => {
  const row = (more) => transferRow({ key: "1", file: "a", state: "running", doneBytes: 512,
    totalBytes: 1_024, problem: "", ...more }).words;
  assert.equal(row({}), "50 % of 1.0 KiB");
  assert.equal(row({ totalBytes: 0, doneBytes: 0 }), "0 % of 0 bytes");
  assert.match(row({ state: "paused" }), /Leave this page open/u);
  assert.equal(row({ state: "failed", problem: "It is too large." }), "It is too large.");
});

/** A page whose uploads end as a test says. */
class Desk {
  status = { accountID: "one", transport: "websocket", state: "inSync" };
  put = [];
  sent = [];
  /** Uploads that run: `{file, end, fail}`. */
  running = [];
  #listeners = [];
  #timers = [];

  constructor() {
    const desk = this;
    const files = {
      upload: (zone, blob, { name, signal }) => new Promise((resolve, reject) => {
        const end = () => resolve({ file: { name, bytes: 1, chunks: [hash("1")] },
          sha256: hash("1"), parts: "A".repeat(43) });
        signal.addEventListener("abort", () => reject(new FileError("aborted")));
        desk.running.push({ file: name, end, fail: reject });
      }),
    };
    this.controller = {
      lockstep: { files }, subscribe: (listener) => this.#listeners.push(listener),
      get status() { return desk.status; },
      browser: { setTimer: (act) => this.#timers.push(act), clearTimer: () => {} },
      act: async (app, action) => {
        this.sent.push(`${action.file} ${action.seen}`);
        return [{ fields: {} }];
      },
    };
    this.transfers = new VaultTransfers(this.controller,
      { changed: () => {}, put: (file) => this.put.push(file) });
  }

  add(file, seen = null) { return this.transfers.add({ file, blob: new Blob(["x"]), seen }); }

  has(status) {
    this.status = { ...this.status, ...status };
    for (const listener of this.#listeners) listener({ kind: "status" });
  }

  timePasses() { for (const act of this.#timers.splice(0)) act(); }

  get states() { return this.transfers.list.map(({ file, state }) => `${file} ${state}`); }
}

const turn = () => new Promise((resolve) => { setImmediate(resolve); });

test("files are sent one after the other, and each is then a file of the vault", async () => {
  const desk = new Desk();
  desk.add("a", hash("7"));
  desk.add("b");
  assert.deepEqual(desk.states, ["a running", "b waiting"]);
  assert.ok(desk.transfers.isBusy);
  desk.running[0].end();
  await turn();
  assert.deepEqual(desk.states, ["b running"]);
  desk.running[1].end();
  await turn();
  assert.deepEqual([desk.states, desk.put, desk.sent],
    [[], ["a", "b"], [`a ${hash("7")}`, "b null"]]);
  assert.ok(!desk.transfers.isBusy);
});

test("a file that meets no relay waits for the connection; another fault waits for the person",
  async () => {
    const desk = new Desk();
    desk.add("a");
    desk.add("b");
    desk.running[0].fail(new CallError("unreachable", "no relay"));
    await turn();
    assert.deepEqual(desk.states, ["a paused", "b running"]);
    desk.running[1].fail(new FileError("unreadable"));
    await turn();
    assert.deepEqual(desk.states, ["a paused", "b failed"]);
    assert.match(desk.transfers.list[1].problem, /^The browser cannot read this file/u);
    desk.has({ transport: null });
    desk.has({ transport: "websocket" });
    assert.deepEqual(desk.states, ["a running", "b failed"]);
    desk.running[2].fail(new CallError("unanswered", "no answer"));
    await turn();
    desk.timePasses();
    assert.deepEqual(desk.states, ["a running", "b failed"]);
    const [, { key }] = desk.transfers.list;
    desk.transfers.tryAgain(key);
    assert.deepEqual(desk.states, ["a running", "b waiting"]);
  });

test("a stopped file is not sent, nor is one that was added for another account", async () => {
  const desk = new Desk();
  desk.add("a");
  desk.add("b");
  desk.transfers.stop(desk.transfers.list[0].key);
  await turn();
  assert.deepEqual(desk.states, ["b running"]);
  desk.has({ accountID: "two" });
  desk.running[1].end();
  await turn();
  assert.deepEqual([desk.states, desk.sent], [[], []]);
  for (let count = 0; count < limits.vaultTransfers; count += 1) assert.ok(desk.add("c"));
  assert.ok(!desk.add("d"));
});

test("the browser remembers the versions that it has seen replaced and removed", async () => {
  const listeners = [];
  const history = new VaultHistory({
    browser: { pageStore: new PageStore(undefined) }, now: 9_000,
    lockstep: { records: () => [record("a.db", "1")] },
    subscribe: (listener) => listeners.push(listener),
  });
  const changed = (...records) => listeners[0]({ kind: "changed", records });
  changed(record("a.db", "2", 2_000), record("b.db", "3"));
  changed({ ...record("a.db", "2", 2_500) });
  changed({ ...record("a.db", "2", 3_000), fields: null });
  const events = await history.of("a.db");
  assert.deepEqual(events.map(({ kind, sha256, modifiedAt }) => [kind, sha256[0], modifiedAt]),
    [["removed", "2", 2_500], ["replaced", "1", 1_000]]);
  assert.deepEqual(await history.of("b.db"), []);
});

test("the history of a file has a bound, and so has that of all files", () => {
  const event = (file, at, fields = {}) => ({ name: file, file, at, modifiedAt: at, device: "pc",
    fields });
  const held = Array.from({ length: limits.versionsOfFile }, (_, at) => event("a", at));
  const { put, remove } = eventsWith(held, [event("a", 100), event("b", 1)]);
  assert.deepEqual([put.length, remove.length], [2, 1]);
  const large = { text: "x".repeat(limits.fileHistoryLength) };
  assert.deepEqual(eventsWith([], [event("c", 1, large)]).put, []);
});
