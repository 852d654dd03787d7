import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import test from "node:test";
import { AccountArchive, archiveName } from "../../../Sources/WebClient/admin/accountArchive.js";
import { elementsIn } from "../../../Sources/WebClient/admin/messageParts.js";
import { tarHeader } from "../../../Sources/WebClient/admin/tar.js";

const account = { accountID: "00000000000000ab", label: "mum", plan: { zones: null }, madeAt: 5 };
const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");
const page = (records, token, more = false) =>
  `{"changes":[${records.join(",")}],"token":"${token}","more":${more}}`;
const record = (name, rest = '"fields":{}') => `{"zone":"Memos","name":"${name}",${rest}}`;

/** Returns the files of an archive by their names. */
async function unpacked(blob) {
  const bytes = Buffer.from(await blob.arrayBuffer());
  const files = new Map();
  let at = 0;
  while (bytes[at] !== 0) {
    const text = (from, length) =>
      bytes.toString("utf8", at + from, at + from + length).split("\u0000")[0];
    const size = Number.parseInt(text(124, 12), 8);
    files.set(text(0, 100), bytes.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  assert.equal(bytes.length, at + 1_024);
  return files;
}

function archiveOf({ pages, chunks = new Map(), devices = '{"devices":[]}' }) {
  const shown = [];
  const asked = [];
  const ending = new AbortController();
  const calls = {
    changes: async (id, since) => {
      asked.push(since);
      return pages[asked.length - 1] ?? page([], since);
    },
    chunk: async (id, hash) => chunks.get(hash) ?? null,
    devices: async () => ({ body: devices }),
  };
  const archive = new AccountArchive({ calls, account, now: () => 1_000, signal: ending.signal,
    show: (words) => shown.push(words) });
  return { archive, asked, shown, ending };
}

test("the elements of a list are found as they are written", () => {
  const list = ['{"a":"]}\\"","n":1.50}', "[1, [2]]", '"x,\\\\"', "-1e400", "null"];
  const message =
    ` { "other" : {"changes":[0]} , "more":false,"changes" : [ ${list.join(" , ")} ] }`;
  assert.deepEqual(elementsIn(message, "changes"), list);
  assert.deepEqual(elementsIn('{"changes":[]}', "changes"), []);
  assert.deepEqual(elementsIn('{"token":"changes"}', "changes"), []);
  for (const broken of ["", "[]", "{", '{"changes":', '{"changes":[', '{"changes":[{"a"']) {
    assert.ok(elementsIn(broken, "changes").length <= 1, broken);
  }
});

test("an archive has an account's records, devices and files, each digit as it was", async () => {
  const bytes = new Uint8Array(700).fill(7);
  const hash = hashOf(bytes);
  const photo = record("b", `"fields":{"n":12345678901234567890.50},"chunks":["${hash}"]`);
  const { archive, asked } = archiveOf({
    pages: [page([record("a"), photo], "t1")], chunks: new Map([[hash, bytes]]),
    devices: '{"devices":[{"deviceID":"01","lastSeen":1.0}]}',
  });
  const { blob, records, chunks, sealed } = await archive.pack();
  const files = await unpacked(blob);
  const root = "lockstep-00000000000000ab";
  assert.deepEqual([records, chunks, sealed], [2, 1, 0]);
  assert.deepEqual(asked, [null, "t1"]);
  assert.deepEqual([...files.keys()].sort(), [`${root}/account.json`, `${root}/chunks/${hash}`,
    `${root}/devices.jsonl`, `${root}/records.jsonl`]);
  assert.equal(String(files.get(`${root}/records.jsonl`)), `${record("a")}\n${photo}\n`);
  assert.equal(String(files.get(`${root}/devices.jsonl`)), '{"deviceID":"01","lastSeen":1.0}\n');
  assert.deepEqual(new Uint8Array(files.get(`${root}/chunks/${hash}`)), bytes);
  assert.deepEqual(JSON.parse(files.get(`${root}/account.json`)), { ...account, token: "t1",
    records: 2, chunks: 1, chunkBytes: 700, exportedAt: 1_000 });
});

test("changes made meanwhile replace what was read, and deleted records are left out", async () => {
  const { archive } = archiveOf({ pages: [
    page([record("a", '"fields":{"n":1}'), record("b")], "t1", true), page([record("c")], "t2"),
    page([record("a", '"fields":{"n":2}'), record("b", '"deleted":true')], "t3"),
  ] });
  const { blob, records } = await archive.pack();
  const lines = String((await unpacked(blob)).get("lockstep-00000000000000ab/records.jsonl"));
  assert.equal(records, 2);
  assert.equal(lines, `${record("c")}\n${record("a", '"fields":{"n":2}')}\n`);
});

test("a line feed between values does not split a record's line", async () => {
  const { archive } = archiveOf({ pages: [page([record("a", '"fields":{\r\n"x":1}')], "t1")] });
  const lines = String((await unpacked((await archive.pack()).blob))
    .get("lockstep-00000000000000ab/records.jsonl"));
  assert.equal(lines, `${record("a", '"fields":{  "x":1}')}\n`);
});

test("sealed records are counted", async () => {
  const { archive } = archiveOf({ pages: [page([
    record("a", '"type":"Sealed","fields":{"key":"00","sealed":"zz"}'), record("b")], "t1")] });
  assert.equal((await archive.pack()).sealed, 1);
});

test("a chunk that is gone is looked for in the further changes", async () => {
  const [old, fresh] = [new Uint8Array([1]), new Uint8Array([2])];
  const { archive } = archiveOf({
    pages: [page([record("a", `"chunks":["${hashOf(old)}"]`)], "t1"), page([], "t1"),
      page([record("a", `"chunks":["${hashOf(fresh)}"]`)], "t2")],
    chunks: new Map([[hashOf(fresh), fresh]]),
  });
  assert.equal((await archive.pack()).chunks, 1);
});

test("a store that has lost a chunk, or changed one, ends the export", async () => {
  const hash = hashOf(new Uint8Array([1]));
  const pages = [page([record("a", `"chunks":["${hash}"]`)], "t1")];
  await assert.rejects(archiveOf({ pages }).archive.pack(), { code: "chunksMissing" });
  const chunks = new Map([[hash, new Uint8Array([2])]]);
  await assert.rejects(archiveOf({ pages, chunks }).archive.pack(), { code: "chunkDamaged" });
  await assert.rejects(archiveOf({ pages: ['{"changes":3}'] }).archive.pack(),
    { code: "intercepted" });
});

test("a person can stop an export", async () => {
  const { archive, ending } = archiveOf({ pages: [page([record("a")], "t1", true)] });
  ending.abort();
  await assert.rejects(archive.pack(), { name: "ExportEnded" });
});

test("a header names a file, and ends with its sum", () => {
  const header = Buffer.from(tarHeader({ name: "a/b", bytes: 8, seconds: 1 }));
  assert.equal(header.length, 512);
  assert.equal(header.toString("latin1", 257, 265), "ustar\u000000");
  assert.equal(header.toString("latin1", 124, 135), "00000000010");
  const sum = header.reduce((all, byte) => all + byte, 0)
    - [...header.subarray(148, 156)].reduce((all, byte) => all + byte, 0) + 8 * 32;
  assert.equal(Number.parseInt(header.toString("latin1", 148, 154), 8), sum);
  assert.throws(() => tarHeader({ name: "é".repeat(51), bytes: 0, seconds: 1 }), RangeError);
  assert.throws(() => tarHeader({ name: "a", bytes: 8 ** 11, seconds: 1 }), RangeError);
});

test("an archive's name is a file name everywhere", () => {
  assert.equal(archiveName({ accountID: "01", label: "mum" }, "2026-03-01"),
    "lockstep-mum-2026-03-01.tar");
  assert.equal(archiveName({ accountID: "01", label: "../a\\b:\u202e" }, "2026-03-01"),
    "lockstep-a-b-2026-03-01.tar");
  assert.equal(archiveName({ accountID: "01", label: "///" }, "2026-03-01"),
    "lockstep-01-2026-03-01.tar");
});
