import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import * as node from "../../../Sources/WebClient/node.js";
import * as lockstep from "../../../Sources/WebClient/lockstep.js";
import * as testing from "../../../Sources/WebClient/testing.js";

// The hand-written types declare what there is, and nothing else. scripts/npm-check checks their
// use with Deno.

const declarations = async (name) => (await readFile(
  new URL(`../../../Sources/WebClient/${name}`, import.meta.url), "utf8"));

/** Names of the values that a declaration file exports. */
const valuesIn = (text) => [
  ...[...text.matchAll(/^export (?:class|function|const) (\w+)/gmu)].map(([, name]) => name),
  ...[...text.matchAll(/^export \{ ([\w, ]+) \}/gmu)].flatMap(([, names]) => names.split(", ")),
];

/** Names of the members of a class or an interface in a declaration file. */
function membersOf(name, text) {
  const body = new RegExp(`^export (?:class|interface) ${name}\\b[^]*?^\\}`, "mu").exec(text)[0];
  const found = [...body.matchAll(/^ {2}(static )?(?:readonly |get )?(\w+)[<(:]/gmu)];
  return { statics: found.filter(([, it]) => it).map(([, , it]) => it),
    members: [...new Set(found.filter(([, it]) => !it).map(([, , it]) => it))]
      .filter((it) => it !== "constructor") };
}

const ownNames = (value) => Object.getOwnPropertyNames(value)
  .filter((it) => !["constructor", "length", "name", "prototype"].includes(it));

test("each entry of the package exports the values that its types declare", async () => {
  const common = valuesIn(await declarations("lockstep.d.ts"));
  const names = (module) => Object.keys(module).sort();
  assert.deepEqual(common.sort(), names(lockstep));
  assert.deepEqual([...common, ...valuesIn(await declarations("node.d.ts"))].sort(), names(node));
  assert.deepEqual(valuesIn(await declarations("testing.d.ts")).sort(), names(testing));
});

test("the class has the members that its types declare", async () => {
  const { statics, members } = membersOf("Lockstep", await declarations("lockstep.d.ts"));
  assert.deepEqual(statics, ownNames(lockstep.Lockstep));
  assert.deepEqual(members.sort(), ownNames(lockstep.Lockstep.prototype).sort());
});

test("a world and its devices have the members that their types declare", async () => {
  const text = await declarations("testing.d.ts");
  const world = new testing.World();
  for (const [name, value] of [["World", world], ["TestDevice", world.device("phone")]]) {
    const { members } = membersOf(name, text);
    assert.ok(members.length > 4);
    for (const member of members) assert.ok(member in value, `${name}.${member}`);
  }
});

test("each exported declaration has a comment", async () => {
  for (const name of ["lockstep.d.ts", "node.d.ts", "testing.d.ts"]) {
    const lines = (await declarations(name)).split("\n");
    const bare = lines.filter((line, index) => /^export (?!\{|\*)/u.test(line)
      && !/\*\/$|^\/\/ /u.test(lines[index - 1] ?? ""));
    assert.deepEqual(bare, [], name);
  }
});

test("the package's page names each exported value, and each code of an error", async () => {
  const document = await declarations("../../docs/page-client.md");
  const root = new URL("../../../Sources/WebClient/", import.meta.url);
  const files = (await readdir(root, { recursive: true }))
    .filter((it) => /^(?:client|node|testing)\/.+\.js$|^lockstep\.js$/u.test(it));
  const sources = await Promise.all(files.map((it) => readFile(new URL(it, root), "utf8")));
  const codes = [...sources.join("\n").matchAll(/new (?:Edit|Store)Error\(\s*"(\w+)"/gu)]
    .map(([, code]) => code);
  assert.ok(codes.length > 20);
  const named = new Set([...document.matchAll(/`([\w.]+)[^`]*`/gu)].map(([, name]) => name));
  // The order of another tab is the client's own.
  const wanted = [...codes.filter((code) => code !== "badOrder"), ...Object.keys(node),
    ...Object.keys(testing)].filter((name) => name !== "World");
  assert.deepEqual([...new Set(wanted)].filter((name) => !named.has(name)), []);
});
