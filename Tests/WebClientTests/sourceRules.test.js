import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { posix } from "node:path";
import test from "node:test";

// Rules for all of Sources/WebClient.

const files = modulesIn(new URL("../../Sources/WebClient/", import.meta.url));
const tests = modulesIn(new URL("./", import.meta.url));

function modulesIn(root) {
  return readdirSync(root, { recursive: true }).filter((path) => path.endsWith(".js")).sort()
    .map((path) => ({ path, content: readFileSync(new URL(path, root), "utf8") }));
}

/** Returns the top folder; for `lockstep.js` its own name. */
const folderOf = (path) => path.split("/")[0];

const importsOf = ({ path, content }) =>
  [...content.matchAll(/(?:from|import)\s*\(?"([^"]+)"/g)].map(([, target]) => ({
    target, folder: folderOf(posix.normalize(posix.join(posix.dirname(path), target))),
  }));

const codeOf = ({ content }) => content.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");

test("the sources are read", () => {
  assert.ok(files.length > 70);
  assert.ok(files.some((file) => importsOf(file).length > 3));
});

test("folders import only the folders below them, and nothing from outside", () => {
  const allowed = {
    json: ["json"], model: ["model", "json"], apps: ["apps", "sealing", "model", "json"],
    sealing: ["sealing", "model", "json"],
    client: ["client", "sealing", "model", "json"], "lockstep.js": ["client", "model", "json"],
    node: ["node", "client", "json"], "node.js": ["node", "lockstep.js"],
    testing: ["testing", "client", "model", "json"], "testing.js": ["testing", "client"],
    // The page uses the package as any app does.
    page: ["page", "apps", "lockstep.js"],
    "serviceWorker.js": [], worker: [],
    status: ["status"], docs: ["docs"],
    // The owner's page shows parts of both other pages, and needs nothing of the client.
    admin: ["admin", "page", "status", "sealing", "json"],
  };
  for (const file of files) {
    const folders = allowed[folderOf(file.path)];
    assert.ok(folders, `no rule for the imports of ${file.path}`);
    for (const it of importsOf(file)) {
      const isNodes = it.target.startsWith("node:") && folderOf(file.path) === "node";
      const isAllowed = isNodes || (it.target.startsWith(".") && folders.includes(it.folder));
      assert.ok(isAllowed, `${file.path} imports ${it.target}`);
    }
  }
});

test("time, randomness and the browser are passed in as parameters", () => {
  const everywhere = [
    "Date.now", "new Date()", "performance.", "Math.random", "crypto.", "setTimeout(",
    "setInterval(", "localStorage", "eval(", "new Function", "console.", "process.",
  ];
  const inRules = ["fetch(", "indexedDB", "document", "window", "await ", "navigator"];
  const areRules = ({ path }) => /^(?:apps|json|model|sealing|client\/replica)\//.test(path);
  // Files that take time, randomness and the network from the browser, in one value each; the hash
  // that names the cache of a service worker, the names of what was shared with it, and the time of
  // a push; a timer in a worker; and the id of the process that has a file open.
  const edges = [
    "client/transport/environment.js", "page/browser.js", "page/timerWorker.js",
    "serviceWorker.js", "worker/shares.js", "worker/wakes.js", "status/liveFigures.js",
    "admin/browser.js", "docs/docs.js", "node/fileLock.js",
  ];
  for (const file of files.filter(({ path }) => !edges.includes(path))) {
    const code = codeOf(file);
    for (const word of areRules(file) ? [...everywhere, ...inRules] : everywhere) {
      assert.ok(!code.includes(word), `${file.path} has ${word}`);
    }
  }
});

test("the browser's own JSON is used only where it loses no digit", () => {
  // The service worker sends back nothing of a record that it has read, and gives the page texts.
  // The reference of the calls reads no record at all.
  const allowed = ["json/jsonValue.js", "json/jsonParser.js", "worker/wakes.js",
    "page/wakes/readAhead.js",
    // Holds no numbers.
    "page/habits/reminderTimes.js"];
  const isAllowed = (path) => allowed.includes(path) || path.startsWith("docs/");
  for (const file of files.filter(({ path }) => !isAllowed(path))) {
    const isOwn = /\bJSON\.(?:parse|stringify)\b|\.json\(/.test(codeOf(file));
    assert.ok(!isOwn, `${file.path} reads or writes JSON by itself`);
  }
});

test("each limit is defined once, and used", () => {
  const names = ["model", "apps", "client", "page", "admin"].flatMap((folder) =>
    [...files.find(({ path }) => path === `${folder}/limits.js`).content
      .matchAll(/^ {2}(\w+): /gm)].map(([, name]) => name));
  assert.ok(names.length > 50);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) {
    const uses = files.filter(({ content }) => content.includes(`limits.${name}`));
    assert.ok(uses.length > 0, `${name} is not used`);
  }
});

test("the scripts of a service worker, which share their names, give none twice", () => {
  const scripts = files.filter(({ path }) => /^(?:serviceWorker\.js$|worker\/)/.test(path));
  const names = scripts.flatMap(({ content }) =>
    [...content.matchAll(/^(?:async )?(?:const|let|function|class) (\w+)/gm)].map(([, it]) => it));
  assert.ok(scripts.length > 2 && names.length > 20);
  assert.equal(new Set(names).size, names.length);
});

test("nothing that a strict policy forbids, and no markup from text", () => {
  const forbidden = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "style="];
  const page = readFileSync(new URL("../../Sources/WebClient/index.html", import.meta.url), "utf8");
  for (const { path, content } of [...files, { path: "index.html", content: page }]) {
    for (const word of forbidden) assert.ok(!content.includes(word), `${path} has ${word}`);
  }
  assert.doesNotMatch(page, /<style|<script(?![^>]* src=)|\son\w+=|https?:/);
});

test("lines fit on a screen", () => {
  for (const { path, content } of [...files, ...tests]) {
    const lines = content.split("\n");
    lines.forEach((line, index) => {
      assert.ok([...line].length <= 100, `${path}:${index + 1} is too long`);
      assert.ok(!/\s$/.test(line), `${path}:${index + 1} ends with white space`);
    });
  }
});

test("the pages of the relay have the colours of the account's page", () => {
  const coloursOf = (path) => {
    const sheet = readFileSync(new URL(`../../Sources/WebClient/${path}`, import.meta.url), "utf8");
    const [light, dark] = sheet.split("@media (prefers-color-scheme: dark)");
    return [light, dark.slice(0, dark.indexOf("\n}\n"))].map((part) => Object.fromEntries(
      [...part.matchAll(/^ +--([a-z-]+): (#[0-9a-f]{6});$/gm)].map(([, name, value]) =>
        [name, value])));
  };
  const own = coloursOf("page/style/base.css");
  for (const [scheme, colours] of coloursOf("docs/docs.css").entries()) {
    assert.ok(Object.keys(colours).length > 8);
    for (const [name, value] of Object.entries(colours)) {
      assert.equal(value, own[scheme][name], `--${name} of docs/docs.css`);
    }
  }
});
