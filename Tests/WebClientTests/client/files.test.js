import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  ContentCuts, sizeClasses,
} from "../../../Sources/WebClient/client/files/contentCuts.js";
import { memoryStore } from "../../../Sources/WebClient/lockstep.js";
import { AccountKeys, KeyGeneration } from "../../../Sources/WebClient/sealing/accountKeys.js";
import { hex } from "../../../Sources/WebClient/sealing/hex.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { SHA256 } from "../../../Sources/WebClient/sealing/sha256.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";
import { needsProgram, run } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";
import { ChunkRelay, problem } from "./support/chunkRelay.js";
import { Browser, inState, until } from "./support/page.js";

// Content of files: cut, sealed, sent, fetched and checked.

const secret = (byte) => new Uint8Array(32).fill(byte);

/** Keys of an account that has removed `removals` devices. */
const keys = (removals = 0) => SealingKeys.ofAccount(
  new AccountKeys(secret(99), Array.from({ length: removals + 1 }, (_, index) =>
    new KeyGeneration(secret(index + 1)))), ZoneSet.allBut(["Keys"]));

/** Bytes that look random, and are the same each time. */
function noise(count, seed = 1) {
  const bytes = new Uint8Array(count);
  let word = seed;
  for (let place = 0; place < count; place += 1) {
    word = (Math.imul(word, 1_103_515_245) + 12_345) | 0;
    bytes[place] = word >>> 16;
  }
  return bytes;
}

const bytesOf = async (blob) => new Uint8Array(await blob.arrayBuffer());

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

test("a file arrives as it was sent, sealed or not, in blocks or cut by its content", async () => {
  for (const held of [null, keys()]) {
    for (const isCutByContent of [false, true]) {
      const relay = new ChunkRelay();
      const content = noise(5_000_000);
      const progress = [];
      const { file, chunks, sha256 } = await relay.files(held).upload("Photos",
        new Blob([content]),
        { name: "a.jpg", isCutByContent, onProgress: (it) => progress.push(it) });
      assert.deepEqual([file.name, file.bytes, sha256], ["a.jpg", 5_000_000, hashOf(content)]);
      assert.equal(file.seal?.zone, held ? "Photos" : undefined);
      assert.deepEqual(file.chunks, chunks);
      assert.ok(isCutByContent ? chunks.length > 9 : chunks.length === 2);
      assert.deepEqual(progress.at(-1), { doneBytes: 5_000_000, totalBytes: 5_000_000 });
      const blob = await relay.files(held).download("Photos", { ...file, sha256 },
        { type: "image/jpeg" });
      assert.equal(blob.type, "image/jpeg");
      assert.deepEqual(await bytesOf(blob), content);
    }
  }
});

test("the relay has no byte of a sealed file, and knows its length only roughly", async () => {
  const relay = new ChunkRelay();
  const text = new TextEncoder().encode("a secret of the family ".repeat(100));
  await relay.files(keys()).upload("Photos", new Blob([text]));
  const [[, stored]] = relay.chunks;
  assert.ok(!Buffer.from(stored).includes("secret"));
  assert.ok(stored.length > text.length + 16);
});

test("an empty file has no chunks, and takes no call", async () => {
  const relay = new ChunkRelay();
  const { file } = await relay.files(keys()).upload("Photos", new Blob([]), { name: "empty" });
  assert.deepEqual([file.bytes, file.chunks], [0, []]);
  const blob = await relay.files(keys()).download("Photos", file);
  assert.equal(blob.size, 0);
  assert.deepEqual(relay.calls, []);
});

test("an upload that broke off continues: what is there is not sent again", async () => {
  const relay = new ChunkRelay();
  const blob = new Blob([noise(3_000_000)]);
  const controller = new AbortController();
  let sent = 0;
  await assert.rejects(relay.files().upload("Vault", blob, {
    isCutByContent: true, signal: controller.signal,
    onProgress: () => { if ((sent += 1) === 5) controller.abort(); },
  }), { code: "aborted" });
  const before = relay.count("PUT");
  assert.ok(before >= 5 && before < 15);
  const { chunks } = await relay.files().upload("Vault", blob, { isCutByContent: true });
  assert.equal(relay.count("PUT"), chunks.length);
});

test("equal parts of a file are sent once", async () => {
  const relay = new ChunkRelay();
  const { chunks } = await relay.files(keys()).upload("Vault", new Blob([new Uint8Array(2 << 20)]),
    { isCutByContent: true });
  assert.deepEqual([chunks.length, relay.count("PUT")], [4, 1]);
  const blob = await relay.files(keys()).download("Vault",
    { name: "zeros", bytes: 2 << 20, chunks, seal: { zone: "Vault", key: keyID(keys()) } });
  assert.equal(blob.size, 2 << 20);
});

const keyID = (held) => held.account.current.id;

test("a call that fails in passing is repeated; one that was refused is not", async () => {
  const relay = new ChunkRelay();
  let failures = 2;
  relay.answer = (call) => (call.startsWith("PUT") && failures-- > 0
    ? problem(503, "overloaded") : undefined);
  const { file } = await relay.files().upload("Photos", new Blob(["text"]));
  assert.equal(relay.count("PUT"), 3);
  relay.answer = () => problem(503, "overloaded");
  await assert.rejects(relay.files().download("Photos", file), { code: "overloaded" });
  assert.equal(relay.count("GET"), 4);
  relay.answer = () => problem(413, "quotaExceeded");
  await assert.rejects(relay.files().upload("Photos", new Blob(["more"])),
    { code: "quotaExceeded" });
});

test("what is missing, damaged, or sealed with other keys is said, and nothing of it is given",
  async () => {
    const relay = new ChunkRelay();
    const { file, sha256 } = await relay.files(keys()).upload("Photos", new Blob([noise(9_000)]));
    const [hash] = file.chunks;
    const fetchFile = (reference, held = keys()) => relay.files(held).download("Photos", reference);
    await assert.rejects(fetchFile(file, null), { code: "noKeys" });
    await assert.rejects(fetchFile({ ...file, seal: { zone: "Photos", key: "0".repeat(16) } }),
      { code: "noKeys" });
    await assert.rejects(fetchFile({ ...file, seal: { zone: "Memos", key: file.seal.key } }),
      { code: "damaged" });
    await assert.rejects(fetchFile({ ...file, bytes: 8_999 }), { code: "damaged" });
    await assert.rejects(fetchFile({ ...file, bytes: 9_001 }), { code: "damaged" });
    await assert.rejects(fetchFile({ ...file, sha256: sha256.replace(/^./u, "x") }),
      { code: "damaged" });
    await assert.rejects(fetchFile({ ...file, chunks: [hash.slice(1)] }), { code: "damaged" });
    const stored = relay.chunks.get(hash);
    relay.chunks.set(hash, stored.map((byte, index) => (index === 40 ? byte ^ 1 : byte)));
    await assert.rejects(fetchFile(file), { code: "damaged" });
    relay.chunks.delete(hash);
    await assert.rejects(fetchFile(file), { code: "missing" });
    assert.deepEqual(await relay.files(keys()).missing("Photos", [hash, hash]), [hash]);
    relay.chunks.set(hash, stored);
    assert.equal((await fetchFile(file, keys(2))).size, 9_000);
  });

test("a locked zone, a file that is too large, and one that cannot be read are refused",
  async () => {
    const relay = new ChunkRelay();
    await assert.rejects(relay.files(null, { isLocked: true }).upload("Photos", new Blob(["x"])),
      { code: "noKeys" });
    const large = { size: relay.files().bytesMax + 1, name: "large" };
    await assert.rejects(relay.files().upload("Photos", large), { code: "tooLarge" });
    const gone = { size: 3, slice: () => ({ arrayBuffer: () => Promise.reject(new Error()) }) };
    await assert.rejects(relay.files().upload("Photos", gone), { code: "unreadable" });
    const shrunk = { size: 3, slice: () => ({ arrayBuffer: async () => new ArrayBuffer(2) }) };
    await assert.rejects(relay.files().upload("Photos", shrunk), { code: "unreadable" });
    assert.deepEqual(relay.calls, []);
  });

test("an answer without end is not read to the end", async () => {
  const relay = new ChunkRelay();
  let sent = 0;
  relay.answer = () => new Response(new ReadableStream({
    pull: (controller) => { controller.enqueue(new Uint8Array(1 << 20)); sent += 1; },
  }));
  const file = { name: "a", bytes: 1, chunks: ["0".repeat(64)] };
  await assert.rejects(relay.files().download("Photos", file), { kind: "unanswered" });
  assert.ok(sent < 40);
});

test("a hash of parts is that of the whole, wherever it is split", () => {
  const content = noise(1_000);
  for (const length of [1, 7, 63, 64, 65, 128, 999, 1_000]) {
    const hash = new SHA256();
    for (let start = 0; start < content.length; start += length) {
      hash.add(content.subarray(start, start + length));
    }
    assert.equal(hex(hash.digest()), hashOf(content));
  }
});

test("bytes at the front change only the first chunks", () => {
  const cuts = new ContentCuts(7n, sizeClasses[0]);
  const cut = (bytes) => {
    const found = [];
    for (let place = 0; place < bytes.length;) {
      const length = cuts.length(bytes.subarray(place));
      found.push(hashOf(bytes.subarray(place, place + length)));
      place += length;
    }
    return found;
  };
  const content = noise(3_000_000);
  const before = cut(content);
  const after = cut(Buffer.concat([Uint8Array.of(1, 2, 3), content]));
  assert.ok(before.length > 10);
  assert.deepEqual(after.slice(-before.length + 2), before.slice(2));
});

test("a terminal agent cuts and seals a file alike, and reads what this client has sent",
  { ...needsProgram, timeout: 120_000 }, async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const folder = mkdtempSync(join(tmpdir(), "lockstep-files-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const home = join(folder, "home");
    const vault = { zone: "Vault", isOwn: true, resolvers: {} };
    const page = await new Browser().open(relay, { apps: [vault], store: memoryStore() });
    context.after(() => page.close());
    await page.createAccount({ deviceName: "page" }, { isSealed: true });
    const { code } = await page.issueCode();
    run(["agent", "join", "--relay", relay.url, "--code", code, "--home", home, "--name", "pc"]);
    const content = noise(2_500_000);
    for (const name of ["one.db", "empty.db"]) {
      writeFileSync(join(folder, name), name === "one.db" ? content : "");
      run(["vault", "add", join(folder, name), "--home", home]);
    }
    run(["agent", "sync", "--home", home]);
    await until(page, () => page.records("Vault").length === 2);
    const theirs = page.record("Vault", "one.db").fields;
    const ours = await page.files.upload("Vault", new Blob([content]),
      { name: "one.db", isCutByContent: true });
    const { file, sha256, parts } = ours;
    assert.deepEqual({ ...file, sha256, parts }, { ...theirs });
    assert.deepEqual(await bytesOf(await page.files.download("Vault", theirs)), content);
    const empty = page.record("Vault", "empty.db").fields;
    assert.equal((await page.files.download("Vault", empty)).size, 0);
    // Its own change comes back to the terminal.
    const changed = Buffer.concat([Uint8Array.of(9), content]);
    const sent = await page.files.upload("Vault", new Blob([changed]),
      { name: "one.db", isCutByContent: true });
    await page.change(() => [{ zone: "Vault", name: "one.db", type: "VaultFile",
      fields: { ...sent.file, sha256: sent.sha256, parts: sent.parts } }]);
    await until(page, inState("inSync"));
    run(["agent", "sync", "--home", home]);
    assert.equal(hashOf(readFileSync(join(folder, "one.db"))), hashOf(changed));
  });
