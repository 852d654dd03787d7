import assert from "node:assert/strict";
import {
  mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { fileStore } from "../../../Sources/WebClient/node.js";

async function place(context) {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-store-"));
  context.after(() => rm(folder, { recursive: true, force: true }));
  return { folder, path: join(folder, "home.json") };
}

const claim = { holder: "script", now: 0, milliseconds: 10 };
const row = (name, fields) => ({
  record: { zone: "Z", name, type: "T", fields, modifiedAt: 1, device: "d", tag: 1,
    deleted: false },
  snapshot: 0, isLost: false,
});
const entry = { number: 7, zone: "Z", name: "a", type: "T", fields: {}, modifiedAt: 1,
  isStampTrusted: true, base: null, state: { kind: "waiting" } };
const put = (store, key, value) => ({ store, key, value });

/** Id of the lock that is held, its last line. */
const lockID = async (path) => (await readFile(`${path}.lock`, "utf8")).trim().split("\n").at(-1);

test("what was written is there after a restart, every digit of it", async (context) => {
  const { path } = await place(context);
  const fields = parse('{"n": 9007199254740993, "t": "\\u2028é😀", "__proto__": 1}');
  const first = await fileStore(path).open();
  const { term } = await first.claim(claim);
  await first.write(term, [
    put("records", "Z\na", row("a", fields)), put("records", "Z\nb", row("b", {})),
    put("outbox", 7, { ...entry, timeMade: undefined }), put("values", "identity", { x: 1 }),
  ]);
  await first.write(term, [put("records", "Z\nb", undefined)]);
  await first.close();
  const again = await fileStore(path).open();
  context.after(() => again.close());
  const { records, outbox, values } = await again.load();
  assert.equal(serialize(records), serialize([row("a", fields)]));
  assert.deepEqual(outbox, [entry]);
  assert.deepEqual(values, [["identity", { x: 1 }]]);
  assert.deepEqual(await again.value("identity"), { x: 1 });
});

test("the term rises over restarts, and an earlier one writes nothing", async (context) => {
  const { path } = await place(context);
  let last = 0;
  for (let times = 0; times < 3; times += 1) {
    const store = await fileStore(path).open();
    const { isHeld, term } = await store.claim(claim);
    assert.ok(isHeld && term > last, `${term} after ${last}`);
    await assert.rejects(store.write(last, [put("values", "x", 1)]), { code: "deposed" });
    await store.write(term, [put("values", "x", times)]);
    last = term;
    if (times === 1) await store.erase(term);
    await store.close();
  }
});

test("a write that fails changes nothing, and the next one succeeds", async (context) => {
  const { folder, path } = await place(context);
  const store = await fileStore(path).open();
  context.after(() => store.close());
  const { term } = await store.claim(claim);
  await store.write(term, [put("values", "x", 1), put("values", "y", 1)]);
  const before = await readFile(path, "utf8");
  // A folder stands where the draft would be written.
  const draft = `${path}.${await lockID(path)}.draft`;
  await mkdir(draft);
  await assert.rejects(store.write(term, [put("values", "x", 2), put("values", "y", undefined)]),
    { code: "failed" });
  await assert.rejects(store.erase(term), { code: "failed" });
  assert.equal(await store.value("x"), 1);
  assert.equal(await readFile(path, "utf8"), before);
  await rm(draft, { recursive: true });
  await store.write(term, [put("values", "z", 3)]);
  assert.deepEqual((await store.load()).values, [["x", 1], ["y", 1], ["z", 3]]);
});

test("a value that is no JSON is refused whole, and the file stays as it is", async (context) => {
  const { path } = await place(context);
  const store = await fileStore(path).open();
  context.after(() => store.close());
  const { term } = await store.claim(claim);
  await store.write(term, [put("values", "x", 1)]);
  const before = await readFile(path, "utf8");
  const writes = [put("values", "x", 2), put("values", "y", [1, , 3])];
  await assert.rejects(store.write(term, writes), TypeError);
  assert.equal(await readFile(path, "utf8"), before);
  await store.write(term, [put("values", "z", 3)]);
  assert.deepEqual(parse(await readFile(path, "utf8")).values, [["x", 1], ["z", 3]]);
});

test("one process has a store open; a lock of one that has ended is replaced", async (context) => {
  const { folder, path } = await place(context);
  const store = await fileStore(path).open();
  await assert.rejects(fileStore(path).open(),
    (error) => error.code === "inUse" && error.message.includes(String(process.pid)));
  const { term } = await store.claim(claim);
  await store.write(term, [put("values", "x", 1)]);
  assert.equal((await stat(path)).mode & 0o077, 0, "only its owner reads the token");
  await store.close();
  assert.deepEqual(await readdir(folder), ["home.json"]);
  await assert.rejects(store.write(term, []), { code: "closed" });
  // Above the greatest id of a process.
  await writeFile(`${path}.lock`, "99999999");
  const next = await fileStore(path).open();
  assert.equal(await next.value("x"), 1);
  await next.close();
});

test("a file that is no store is left as it is", async (context) => {
  const { folder, path } = await place(context);
  for (const [text, code] of [["", "failed"], ["{}", "failed"], ["[1]", "failed"],
    ['{"lockstepStore":1,"term":1,"records":[1],"outbox":[],"values":[]}', "failed"],
    ['{"lockstepStore":2}', "newer"]]) {
    await writeFile(path, text);
    await assert.rejects(fileStore(path).open(), { name: "StoreError", code }, text);
    assert.equal(await readFile(path, "utf8"), text);
    assert.deepEqual(await readdir(folder), ["home.json"]);
  }
});

test("a file with damaged rows is refused by its name, and left as it is", async (context) => {
  const { folder, path } = await place(context);
  const good = { lockstepStore: 1, term: 1, records: [["Z\na", row("a", {})]],
    outbox: [[7, entry]], values: [["identity", { x: 1 }]] };
  await writeFile(path, serialize(good));
  await (await fileStore(path).open()).close();
  const { record } = row("a", {});
  for (const damage of [
    ...[null, 1, [], {}, { record: null }, { record: {} }, { record: { ...record, fields: 1 } },
      { record: { ...record, name: "b" } }].map((it) => ({ records: [["Z\na", it]] })),
    { records: [[1, row("a", {})]] },
    ...[null, {}, { number: 7 }, { ...entry, number: 8 }, { ...entry, state: null },
      { ...entry, fields: 1 }, { ...entry, base: 1 }].map((it) => ({ outbox: [[7, it]] })),
    { values: [[1, 1]] },
  ]) {
    const text = serialize({ ...good, ...damage });
    await writeFile(path, text);
    await assert.rejects(async () => (await fileStore(path).open()).close(),
      (error) => error.name === "StoreError" && error.code === "failed"
        && error.message.includes(path), text);
    assert.equal(await readFile(path, "utf8"), text);
    assert.deepEqual(await readdir(folder), ["home.json"]);
  }
});

test("of all who find the lock of an ended process, one takes it", async (context) => {
  const { folder, path } = await place(context);
  for (let rounds = 0; rounds < 20; rounds += 1) {
    await writeFile(`${path}.lock`, "99999999");
    const opened = await Promise.allSettled(
      Array.from({ length: 8 }, () => fileStore(path).open()));
    const stores = opened.filter(({ value }) => value).map(({ value }) => value);
    assert.equal(stores.length, 1, `round ${rounds}`);
    for (const { reason } of opened.filter((it) => it.status === "rejected")) {
      assert.equal(reason.code, "inUse");
    }
    await stores[0].close();
    assert.deepEqual(await readdir(folder), [], "nothing is left over");
  }
});

test("the end of a store does not remove a lock that is not its own", async (context) => {
  const { path } = await place(context);
  const store = await fileStore(path).open();
  await writeFile(`${path}.lock`, "another's");
  await store.close();
  assert.equal(await readFile(`${path}.lock`, "utf8"), "another's");
});

test("a lock that is being made is not taken over; an old empty one is", async (context) => {
  const { path } = await place(context);
  await writeFile(`${path}.lock`, "");
  await assert.rejects(fileStore(path).open(), { code: "inUse" });
  await utimes(`${path}.lock`, 1, 1);
  await (await fileStore(path).open()).close();
});

test("drafts of processes that were killed are removed, and no other file", async (context) => {
  const { folder, path } = await place(context);
  for (const name of ["home.json.0123456789abcdef.draft", "home.json.bak", "other.draft"]) {
    await writeFile(join(folder, name), "x");
  }
  const store = await fileStore(path).open();
  await store.close();
  assert.deepEqual((await readdir(folder)).sort(), ["home.json.bak", "other.draft"]);
});

const hasProc = { skip: process.platform !== "linux" && "only Linux says when a process began" };

/** The lines of a lock that a process of this run of the system holds. */
async function linesOf(pid) {
  const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  return { pid, boot, start, id: "0123456789abcdef" };
}

test("a lock whose process id belongs to another process now is replaced", hasProc,
  async (context) => {
    const { path } = await place(context);
    for (const pid of [process.ppid, process.pid]) {
      const held = await linesOf(pid);
      const write = (change) =>
        writeFile(`${path}.lock`, `${Object.values({ ...held, ...change }).join("\n")}\n`);
      await write({});
      await assert.rejects(fileStore(path).open(), { code: "inUse" });
      for (const change of [{ boot: "11111111-2222-3333-4444-555555555555" }, { start: "1" }]) {
        await write(change);
        await (await fileStore(path).open()).close();
      }
    }
  });

test("a lock with this process's id alone is of an earlier process, as in a container",
  async (context) => {
    const { path } = await place(context);
    for (const text of [`${process.pid}`, `${process.pid}\n\n\n0123456789abcdef\n`]) {
      await writeFile(`${path}.lock`, text);
      const store = await fileStore(path).open();
      await assert.rejects(fileStore(path).open(), { code: "inUse" });
      await store.close();
    }
    // Nothing shows that this one has ended.
    await writeFile(`${path}.lock`, `${process.ppid}`);
    await assert.rejects(fileStore(path).open(), { code: "inUse" });
  });
