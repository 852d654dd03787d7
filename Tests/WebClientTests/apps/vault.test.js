import assert from "node:assert/strict";
import test from "node:test";
import { EditRefusal, act } from "../../../Sources/WebClient/apps/edit.js";
import {
  conflictName, freeName, originalOf,
} from "../../../Sources/WebClient/apps/vault/conflictName.js";
import { vaultApp } from "../../../Sources/WebClient/apps/vault/vaultApp.js";
import { VaultContents } from "../../../Sources/WebClient/apps/vault/vaultContents.js";
import {
  vaultFileResolver,
} from "../../../Sources/WebClient/apps/vault/vaultFileResolver.js";

// The vault's files, as a page changes them.

const hash = (letter) => letter.repeat(64);

/** Fields of a file in a sealed zone whose content is one letter of hexadecimal digits. */
const fieldsOf = (file, letter, more = {}) => ({
  name: file, bytes: 1, chunks: [hash(letter)], seal: { zone: "Vault", key: "0".repeat(16) },
  sha256: hash(letter), parts: "A".repeat(43), ...more,
});

const record = (name, fields, { at = 1_000, by = "pc" } = {}) =>
  ({ zone: "Vault", name, type: "VaultFile", fields, modifiedAt: at, device: by });

const plain = (file, letter) =>
  ({ file, size: 1, sha256: hash(letter), chunks: [hash(letter)] });

const contentsOf = (records, isZoneSealed = true) => new VaultContents(
  { records, device: "web", deviceNames: { pc: "laptop" } }, { isZoneSealed });

/** Returns the records after an action. */
function after(records, action) {
  const { changes } = act(vaultApp, { records, device: "web" }, action, 5_000, () => []);
  const all = new Map(records.map((it) => [it.name, it]));
  for (const { name, fields, stamp } of changes) {
    if (fields === null) all.delete(name);
    else all.set(name, record(name, fields, { at: stamp, by: "web" }));
  }
  return [...all.values()];
}

const shown = (records) => contentsOf(records).files.map(({ file, sha256, copyOf }) =>
  `${file} ${sha256[0]}${copyOf === null ? "" : ` of ${copyOf}`}`);

const refused = (records, action, words) => assert.throws(() => after(records, action),
  (error) => error instanceof EditRefusal && words.test(error.message));

test("a file is added, replaced, removed and brought back", () => {
  let records = after([], { do: "put", file: "a.db", fields: fieldsOf("a.db", "1"), seen: null });
  assert.deepEqual(shown(records), ["a.db 1"]);
  const [held] = records;
  records = after(records,
    { do: "put", file: "a.db", fields: fieldsOf("a.db", "2"), seen: hash("1") });
  assert.deepEqual(shown(records), ["a.db 2"]);
  refused(records, { do: "remove", name: "a.db", seen: hash("1") }, /has just changed/u);
  records = after(records, { do: "remove", name: "a.db", seen: hash("2") });
  assert.deepEqual(records, []);
  records = after(records, { do: "restore", name: "a.db", fields: held.fields });
  assert.deepEqual(shown(records), ["a.db 1"]);
  refused(records, { do: "restore", name: "a.db", fields: held.fields }, /there again already/u);
});

test("a version that the person had not seen is kept beside the new one", () => {
  const records = [record("a.db", fieldsOf("a.db", "2"))];
  for (const seen of [hash("1"), null]) {
    assert.deepEqual(
      shown(after(records, { do: "put", file: "a.db", fields: fieldsOf("a.db", "3"), seen })),
      ["a.db 3", "a_conflict_1970-01-01T00-00-01.000Z.db 2 of a.db"]);
  }
  // The same content is no other version.
  assert.deepEqual(
    shown(after(records, { do: "put", file: "a.db", fields: fieldsOf("a.db", "2"), seen: null })),
    ["a.db 2"]);
});

test("a conflict ends with this file, the other, or both", () => {
  const copy = "a_conflict_1970-01-01T00-00-01.000Z.db";
  const records = [record("a.db", fieldsOf("a.db", "1")), record(copy, fieldsOf(copy, "2")),
    record("a 2.db", fieldsOf("a 2.db", "3"))];
  const end = (keep, more = {}) => after(records,
    { do: "resolve", copy, keep, copyWas: hash("2"), was: hash("1"), ...more });
  assert.deepEqual(shown(end("this")), ["a 2.db 3", "a.db 1"]);
  assert.deepEqual(shown(end("other")), ["a 2.db 3", "a.db 2"]);
  assert.deepEqual(shown(end("both")), ["a 2.db 3", "a 3.db 2", "a.db 1"]);
  const decided = { do: "resolve", copy, keep: "this", copyWas: hash("2"), was: hash("1") };
  refused(records, { ...decided, was: hash("9") }, /has just changed/u);
  refused(records, { ...decided, copyWas: hash("9") }, /has just changed/u);
  refused(records, { ...decided, copy: "a.db", copyWas: hash("1") }, /no other version/u);
  // Without the file itself, the copy takes its name.
  assert.deepEqual(shown(after(records.slice(1), { ...decided, keep: "other", was: null })),
    ["a 2.db 3", "a.db 2"]);
});

test("a file has any name that can be one in a folder, and no other", () => {
  for (const file of ["密码 🔑.db", ".hidden", "a\\b", "<b>", "key", "code", "x".repeat(255)]) {
    const records = after([], { do: "put", file, fields: fieldsOf(file, "1"), seen: null });
    assert.deepEqual(shown(records), [`${file} 1`]);
  }
  for (const file of ["", ".", "..", "a/b", "a\nb", "x".repeat(256)]) {
    refused([], { do: "put", file, fields: fieldsOf(file, "1"), seen: null }, /Rename/u);
  }
});

test("what cannot be read is neither shown as a file nor overwritten", () => {
  const sealed = record("a.db", { sealed: "AAAA", key: "0".repeat(16), chunks: [] });
  const others = [fieldsOf("b.db", "1"), fieldsOf("a.db", "1", { bytes: -1 }),
    fieldsOf("a.db", "1", { parts: "AA" }), fieldsOf("a.db", "1", { chunks: ["x"] }),
    fieldsOf("a.db", "1", { seal: { zone: "Memos", key: "1" } }), { file: "a.db" }, {}];
  for (const odd of [sealed, ...others.map((fields) => record("a.db", fields))]) {
    const contents = contentsOf([odd]);
    assert.deepEqual(contents.files, []);
    assert.deepEqual(contents.unreadable.map(({ problem }) => problem),
      [odd === sealed ? "noKey" : "malformed"]);
    refused([odd], { do: "put", file: "a.db", fields: fieldsOf("a.db", "1"), seen: null },
      /cannot read/u);
  }
  refused([], { do: "put", file: "a.db", fields: plain("a.db", "1"), seen: null }, /no file of/u);
  // In a zone that is not sealed, anyone may write what looks like a sealed file.
  assert.deepEqual(contentsOf([record("a.db", fieldsOf("a.db", "1"))], false).files, []);
  assert.deepEqual(contentsOf([record("a.db", plain("a.db", "1"))], false).files.length, 1);
});

test("names of conflict copies are those that all devices give", () => {
  const at = BigInt(Date.UTC(2026, 2, 1, 12));
  const copies = { "vault.db": "vault_conflict_2026-03-01T12-00-00.000Z.db",
    ".netrc": ".netrc_conflict_2026-03-01T12-00-00.000Z", vault: "vault_conflict_2026-03-01T12-"
      + "00-00.000Z", "a.b.c": "a.b_conflict_2026-03-01T12-00-00.000Z.c" };
  for (const [file, copy] of Object.entries(copies)) {
    assert.equal(conflictName(file, at), copy);
    assert.equal(originalOf(copy), file);
  }
  const twice = conflictName(copies["vault.db"], at);
  assert.equal(originalOf(twice), copies["vault.db"]);
  for (const other of ["vault.db", "a_conflict_x.db", "_conflict_2026-03-01T12-00-00.000Z"]) {
    assert.equal(originalOf(other), null);
  }
  const long = `${"é".repeat(126)}.db`;
  assert.ok(new TextEncoder().encode(conflictName(long, at)).length <= 255);
  assert.match(conflictName("a", 2n ** 62n), /^a_conflict_\d+-\d\d-\d\dT/u);
  assert.equal(conflictName("a", -1n), "a_conflict_1969-12-31T23-59-59.999Z");
  assert.equal(freeName("a.db", new Set(["a.db", "a 2.db"])), "a 3.db");
});

test("of two versions of a sealed file the newer keeps the name, on each device", () => {
  const version = (letter, at, fields) => ({ name: "a.db", modifiedAt: at, device: letter,
    deleted: false, fields: fields ?? fieldsOf("a.db", letter) });
  const [one, two] = [version("1", 1_000), version("2", 2_000)];
  const copy = "a_conflict_1970-01-01T00-00-01.000Z.db";
  for (const [local, server] of [[one, two], [two, one]]) {
    assert.deepEqual(vaultFileResolver.resolve({ base: null, local, server }),
      { merged: two.fields, copies: [{ name: copy, fields: fieldsOf(copy, "1") }] });
  }
  const same = version("3", 3_000, fieldsOf("a.db", "1", { chunks: [hash("9")] }));
  assert.deepEqual(vaultFileResolver.resolve({ base: null, local: same, server: one }),
    { merged: one.fields, copies: [] });
  const own = version("4", 500, { sealed: "AAAA", key: "0", chunks: [] });
  assert.deepEqual(vaultFileResolver.resolve({ base: null, local: one, server: own }),
    { ask: true });
  assert.deepEqual(
    vaultFileResolver.resolve({ base: null, local: one, server: { ...own, fields: null } }),
    { merged: one.fields, copies: [] });
});

test("a new version names no chunk of the one of another form that it replaces", () => {
  const { changes } = act(vaultApp, { records: [], device: "web" },
    { do: "put", file: "a.db", fields: fieldsOf("a.db", "1"), seen: null }, 5_000, () => []);
  assert.deepEqual(changes.map(({ chunks }) => chunks), [[]]);
});
