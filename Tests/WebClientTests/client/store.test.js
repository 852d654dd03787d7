import assert from "node:assert/strict";
import { test } from "node:test";
import { IndexedStore, openStore } from "../../../Sources/WebClient/client/store/indexedStore.js";
import { WriteTransaction } from "../../../Sources/WebClient/client/replica/writeTransaction.js";
import { MemoryStore } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { base64url } from "../../../Sources/WebClient/sealing/base64url.js";
import { RecordVersion } from "../../../Sources/WebClient/sealing/recordVersion.js";
import { VersionVector } from "../../../Sources/WebClient/sealing/versionVector.js";
import { FakeIndexedDB } from "./support/fakeIndexedDB.js";

const environment = { setTimer: setTimeout, clearTimer: clearTimeout };
const openIndexed = (factory = new FakeIndexedDB()) => openStore(factory, "test", environment);
const claim = (holder, now, more = {}) => ({ holder, now, milliseconds: 10_000, ...more });
const put = (store, key, value) => ({ store, key, value });

const kinds = { "in memory": async () => new MemoryStore(), "in IndexedDB": () => openIndexed() };
for (const [kind, open] of Object.entries(kinds)) {
  test(`${kind}: what was written is there, with one write as with many`, async () => {
    const store = await open();
    const { term } = await store.claim(claim("tab", 0));
    const row = { record: { zone: "Z", name: "n", fields: { a: 1 } }, snapshot: 0, isLost: false };
    await store.write(term, [
      put("records", "Z\nn", row), put("outbox", 1, { number: 1 }), put("outbox", 2, { number: 2 }),
      put("values", "cursor", "a1.7"), put("values", "gone", 1),
    ]);
    await store.write(term, [put("outbox", 1), put("values", "gone")]);
    assert.deepEqual(await store.load(), {
      records: [row], outbox: [{ number: 2 }], values: [["cursor", "a1.7"]],
    });
    assert.equal(await store.value("cursor"), "a1.7");
    assert.equal(await store.value("gone"), undefined);
  });

  test(`${kind}: what is held is nobody's to change from outside`, async () => {
    const store = await open();
    const { term } = await store.claim(claim("tab", 0));
    const value = { list: [1] };
    await store.write(term, [put("values", "v", value)]);
    value.list.push(2);
    (await store.value("v")).list.push(3);
    assert.deepEqual(await store.value("v"), { list: [1] });
  });

  test(`${kind}: versions of sealed zones are there again, and of others there are none`,
    async () => {
      const store = await open();
      const { term } = await store.claim(claim("tab", 0));
      const writer = "00000000000000aa";
      const made = new VersionVector(
        [{ writer, number: 1 }, { writer: "f".repeat(16), number: 9 }]);
      const version = new RecordVersion({ writer, number: 2 }, made);
      const record = (name) => ({ zone: "Z", name, type: "T", fields: { a: 1 }, modifiedAt: 1,
        device: "00000000000000aa", tag: 3, deleted: false });
      const entry = (number, more) => ({ number, ...record(`entry ${number}`), base: null,
        isStampTrusted: true, state: { kind: "waiting" }, ...more });
      const before = new WriteTransaction({ records: [], outbox: [], values: [] });
      before.put(record("sealed"), 0, [], version);
      before.put(record("plain"));
      const lineages = [
        { base: version, made: version.vector, id: { writer, number: 2 ** 53 - 1 },
          given: [version.id, { writer, number: 2 ** 53 - 1 }], asked: null, isMerge: false },
        { base: null, made: new VersionVector(), id: null, given: [], asked: version,
          isMerge: true },
        { base: version, made, id: version.id, given: [], asked: null, isMerge: false },
      ];
      const entries = [...lineages.map((lineage, at) => entry(1 + at, { lineage })), entry(4)];
      for (const it of entries) before.putEntry(it);
      await store.write(term, before.finish().writes);
      const { records, outbox } = await store.load();
      assert.deepEqual(structuredClone({ records, outbox }), { records, outbox }, "plain objects");
      const after = new WriteTransaction({ records, outbox, values: [] });
      assert.deepEqual(after.version("Z\nsealed"), version);
      assert.ok(after.version("Z\nsealed").isSame(version));
      assert.deepEqual([after.version("Z\nplain"), after.version("Z\nnone")], [null, null]);
      assert.deepEqual(entries.map(({ number }) => after.outbox.entry(number)), entries);
      assert.equal(Object.hasOwn(after.outbox.entry(4), "lineage"), false);
      // A local change is no version until the relay has it.
      after.put({ ...record("sealed"), fields: { a: 2 } });
      await store.write(term, after.finish().writes);
      const rows = (await store.load()).records;
      assert.deepEqual(rows.map((row) => Object.hasOwn(row, "version")), [false, false]);
    });

  test(`${kind}: what is no version is not taken for one`, async () => {
    const store = await open();
    const { term } = await store.claim(claim("tab", 0));
    const row = { record: { zone: "Z", name: "n" }, snapshot: 0, isLost: false,
      version: base64url(new Uint8Array(24)) };
    await store.write(term, [put("records", "Z\nn", row)]);
    const contents = await store.load();
    assert.throws(() => new WriteTransaction(contents), RangeError);
  });

  test(`${kind}: one leads, and another when the lease has run out`, async () => {
    const store = await open();
    const first = await store.claim(claim("first", 0));
    assert.equal(first.isHeld, true);
    assert.equal((await store.claim(claim("second", 9_999))).isHeld, false);
    assert.deepEqual(await store.claim(claim("first", 5_000)), first, "renewed, in the same term");
    assert.equal((await store.claim(claim("second", 14_999))).isHeld, false);
    const second = await store.claim(claim("second", 15_000));
    assert.deepEqual(second, { isHeld: true, term: first.term + 1 });
    const forced = await store.claim(claim("first", 15_001, { force: true }));
    assert.deepEqual(forced, { isHeld: true, term: second.term + 1 });
  });

  test(`${kind}: a lease of a clock that was set back does not stand for ever`, async () => {
    const store = await open();
    await store.claim(claim("first", 1e12));
    assert.equal((await store.claim(claim("second", 0))).isHeld, true);
  });

  test(`${kind}: who does not lead any more writes and erases nothing`, async () => {
    const store = await open();
    const first = await store.claim(claim("first", 0));
    await store.write(first.term, [put("values", "v", "first's")]);
    const second = await store.claim(claim("second", 0, { force: true }));
    const late = store.write(first.term, [put("values", "v", "late"), put("values", "w", 1)]);
    await assert.rejects(late, { code: "deposed" });
    await assert.rejects(store.erase(first.term), { code: "deposed" });
    assert.deepEqual((await store.load()).values, [["v", "first's"]]);
    await store.erase(second.term);
    assert.deepEqual((await store.load()).values, []);
    await store.write(second.term, [put("values", "v", "second's")]);
    assert.equal(await store.value("v"), "second's");
  });
}

test("what IndexedDB holds survives a reload", async () => {
  const factory = new FakeIndexedDB();
  const store = await openIndexed(factory);
  const { term } = await store.claim(claim("tab", 0));
  await store.write(term, [put("values", "v", 1)]);
  store.close();
  const again = await openIndexed(factory);
  assert.equal(await again.value("v"), 1);
  assert.equal(again.isDurable, true);
});

test("a write that fails leaves nothing of itself, and says why", async () => {
  const factory = new FakeIndexedDB();
  const store = await openIndexed(factory);
  const { term } = await store.claim(claim("tab", 0));
  factory.onCommit = () => {
    throw Object.assign(new Error("no room"), { name: "QuotaExceededError" });
  };
  const write = store.write(term, [put("values", "v", 1), put("outbox", 1, { number: 1 })]);
  await assert.rejects(write, { code: "full" });
  factory.onCommit = () => {};
  assert.deepEqual(await store.load(), { records: [], outbox: [], values: [] });
});

test("a browser that refuses pages a store gets one in memory, which says so", async () => {
  const factory = new FakeIndexedDB();
  factory.onOpen = () => { throw Object.assign(new Error("no"), { name: "SecurityError" }); };
  for (const store of [await openIndexed(factory), await openStore(null, "test", environment)]) {
    assert.equal(store.isDurable, false);
    assert.match(store.reason, /store/u);
  }
});

test("a store that is there and cannot be read is not begun anew", async () => {
  const factory = new FakeIndexedDB();
  await new Promise((resolve) => {
    const request = factory.open("test", IndexedStore.version + 1);
    request.onupgradeneeded = () => {};
    request.onsuccess = resolve;
  });
  await assert.rejects(openIndexed(factory), { code: "newer" });
  factory.onOpen = () => { throw Object.assign(new Error("damaged"), { name: "UnknownError" }); };
  await assert.rejects(openIndexed(factory), { code: "failed" });
});

test("an older page makes way for a newer version of itself", async () => {
  const factory = new FakeIndexedDB();
  const store = await openIndexed(factory);
  const outdated = new Promise((resolve) => { store.onOutdated = resolve; });
  const request = factory.open("test", IndexedStore.version + 1);
  request.onupgradeneeded = () => {};
  request.onsuccess = () => {};
  await outdated;
  await assert.rejects(store.value("v"), { code: "closed" });
});

test("a connection that the browser closed in the background is opened anew", async () => {
  const factory = new FakeIndexedDB();
  const store = await openIndexed(factory);
  const { term } = await store.claim(claim("tab", 0));
  factory.dropConnections();
  await store.write(term, [put("values", "v", 1)]);
  factory.dropConnections();
  assert.equal(await store.value("v"), 1);
});
