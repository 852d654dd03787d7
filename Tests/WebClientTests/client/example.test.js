import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { promisify } from "node:util";
import { Lockstep, version } from "../../../Sources/WebClient/lockstep.js";

const document = await readFile(new URL("../../../docs/page-client.md", import.meta.url), "utf8");
const script = /<script type="module">\n([\s\S]*?)<\/script>/u.exec(document)[1];

test("the example in the document is a module, and asks only what there is", async () => {
  const parsed = promisify(execFile)(process.execPath, ["--check", "--input-type=module", "-"]);
  parsed.child.stdin.end(script);
  await parsed;
  for (const [, name] of script.matchAll(/\blockstep\.(?!js\b)(\w+)/gu)) {
    assert.ok(name in Lockstep.prototype, `lockstep.${name}`);
  }
});

test("the document and the head of the module name the same things", async () => {
  const module = await readFile(new URL("../../../Sources/WebClient/lockstep.js", import.meta.url),
    "utf8");
  const head = module.slice(0, module.indexOf("*/"));
  const names = Object.getOwnPropertyNames(Lockstep.prototype);
  for (const name of names.filter((it) => it !== "constructor")) {
    assert.match(head, new RegExp(`\`${name}\\b`, "u"), name);
    assert.match(document, new RegExp(`\`${name}\\b`, "u"), name);
  }
});

test("the documents and the consumer name the package's file of this version", async () => {
  for (const path of ["docs/page-client.md", "docs/relay/names.md", "README.md",
    "Tests/Consumers/ShoppingList/shopping.js"]) {
    const text = await readFile(new URL(`../../../${path}`, import.meta.url), "utf8");
    const named = [...text.matchAll(/\blockstep-(\d[\w.]*)\.js\b/gu)].map(([, it]) => it);
    assert.ok(named.length > 0, path);
    assert.deepEqual(named.filter((it) => it !== version), [], path);
  }
});
