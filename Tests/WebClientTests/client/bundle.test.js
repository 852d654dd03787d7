import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import * as modules from "../../../Sources/WebClient/lockstep.js";
import { needsProgram } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";

// The package in one file, as a relay serves it.

const within = { ...needsProgram, timeout: 60_000 };
let relay;
let folder;

before(async () => {
  if (needsProgram.skip) return;
  relay = await RelayProcess.start();
  folder = await mkdtemp(join(tmpdir(), "lockstep-bundle-"));
});
after(async () => {
  await relay?.remove();
  if (folder) await rm(folder, { recursive: true });
});

/** Imports the file. Node.js imports no addresses, so from a copy. */
async function imported() {
  const { module } = await (await fetch(`${relay.url}/lockstep.json`)).json();
  const path = join(folder, "lockstep.mjs");
  await writeFile(path, Buffer.from(await (await fetch(relay.url + module)).arrayBuffer()));
  return import(pathToFileURL(path).href);
}

test("the relay names the file of its version and its hash, and browsers keep it", within,
  async () => {
    const answer = await fetch(`${relay.url}/lockstep.json`);
    assert.equal(answer.headers.get("Cache-Control"), "no-cache");
    const { version, module, integrity } = await answer.json();
    assert.deepEqual([version, module], [modules.version, `/lockstep-${modules.version}.js`]);
    const file = await fetch(relay.url + module);
    assert.match(file.headers.get("Content-Type"), /^text\/javascript/u);
    assert.equal(file.headers.get("Cache-Control"), "public, max-age=31536000, immutable");
    const bytes = Buffer.from(await file.arrayBuffer());
    assert.equal(integrity, `sha256-${createHash("sha256").update(bytes).digest("base64")}`);
    const other = await fetch(`${relay.url}/lockstep-0.0.1.js`);
    assert.equal(other.status, 404);
    assert.match((await other.json()).detail, /lockstep\.json/u);
  });

test("the file exports what the modules do, and its devices sync", within, async (context) => {
  const bundle = await imported();
  assert.deepEqual(Object.keys(bundle).sort(), Object.keys(modules).sort());
  const { counterAdded, counterValue, Lockstep, memoryStore } = bundle;
  const rules = { zone: "Todos", types: { Todo: { fields: { done: "or", minutes: "counter" } } } };
  const open = async () => {
    const lockstep = await Lockstep.open({ relay: relay.url, rules, store: memoryStore() });
    context.after(() => lockstep.close());
    return lockstep;
  };
  const [one, two] = [await open(), await open()];
  const id = await one.save("Todos", "Todo", { title: "milk", done: false });
  await one.createAccount({ deviceName: "one" });
  await two.join((await one.issueCode()).code, { deviceName: "two" });
  const count = (todo, { device }) =>
    ({ ...todo, minutes: counterAdded(todo.minutes, device, 2) });
  for await (const [todo] of two.live("Todos", "Todo")) if (todo) break;
  await Promise.all([one.update("Todos", id, count), two.update("Todos", id, count)]);
  for (const lockstep of [one, two]) {
    for await (const [todo] of lockstep.live("Todos", "Todo")) {
      if (counterValue(todo.minutes) === 4) break;
    }
  }
});
