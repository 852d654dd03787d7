import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test, { afterEach } from "node:test";
import { chinese } from "../../../Sources/WebClient/page/language/chinese.js";
import { japanese } from "../../../Sources/WebClient/page/language/japanese.js";
import {
  languageFor, languageOfTag, setLanguage, t, tCount,
} from "../../../Sources/WebClient/page/language/language.js";
import { errorText } from "../../../Sources/WebClient/page/text/errorText.js";
import { refusals, refusalText } from "../../../Sources/WebClient/page/text/refusalTexts.js";
import { sentence } from "../../../Sources/WebClient/page/text/sentences.js";

const root = new URL("../../../Sources/WebClient/page/", import.meta.url);
const sources = readdirSync(root, { recursive: true })
  .filter((path) => path.endsWith(".js") && !path.startsWith("language/"))
  .sort().map((path) => ({ path, code: readFileSync(new URL(path, root), "utf8") }));

afterEach(() => setLanguage("en", Object.freeze({})));

const literal = /^\s*("(?:[^"\\]|\\.)*")/u;

/** Returns the text of joined literals at the start of the code, and the code after them; null if
 * there is another expression. */
function joined(code) {
  let rest = code;
  let text = "";
  for (;;) {
    const [found, quoted] = rest.match(literal) ?? [];
    if (!found) return null;
    text += JSON.parse(quoted);
    rest = rest.slice(found.length);
    const plus = rest.match(/^\s*\+/u);
    if (!plus) return { text, rest };
    rest = rest.slice(plus[0].length);
  }
}

/** Returns the texts that the code shows, each as its key in the tables. */
function textsOf({ path, code }) {
  const texts = [];
  for (const call of code.matchAll(/(?<![\w.#])(t|tCount)\(/gu)) {
    let rest = code.slice(call.index + call[0].length);
    if (call[1] === "tCount") {
      const comma = rest.search(/,\s*"/u);
      assert.ok(comma >= 0, `${path}: tCount takes literals: ${rest.slice(0, 60)}`);
      const one = joined(rest.slice(comma + 1));
      rest = one.rest.replace(/^\s*,/u, "");
    }
    const found = joined(rest);
    assert.ok(found && /^\s*[,)]/u.test(found.rest),
      `${path}: ${call[1]} takes literals: ${rest.slice(0, 60)}`);
    texts.push(found.text);
  }
  return texts;
}

const placeholders = (text) => [...text.matchAll(/\{\w+\}/gu)].map(String).sort();
const all = [...new Set(sources.flatMap(textsOf))].sort();

for (const [name, table] of Object.entries({ chinese, japanese })) {
  test(`${name}: each text of the page has a translation, and each translation a text`, () => {
    assert.deepEqual(all.filter((text) => !Object.hasOwn(table, text)), [], "no translation");
    assert.deepEqual(Object.keys(table).filter((text) => !all.includes(text)), [], "not shown");
  });

  test(`${name}: a translation has the same named values, and is not empty`, () => {
    for (const [text, translation] of Object.entries(table)) {
      assert.deepEqual(placeholders(translation), placeholders(text), text);
      assert.notEqual(translation.trim(), "", text);
    }
  });
}

/** File whose literals are the apps' own sentences, by which it finds the texts. */
const sentencesOfApps = "text/refusalTexts.js";

/** Literals that read like texts, and that no person sees. */
const notTexts = [
  "appController.js: Keys", "devices/devicesModel.js: Keys", "devices/lastDevice.js: Keys",
  "devices/pairCard.js: Keys",
  // Names of browsers and systems, as they are in every language.
  ...["Edge", "Opera", "Firefox", "Chrome", "Safari", "Android", "Windows", "Mac", "Chromebook",
    "Linux"].map((name) => `text/deviceText.js: ${name}`),
  // Errors that the page itself handles.
  "store/pageStore.js: another tab keeps the store from being opened",
  "text/syncText.js: no store",
  // A browser's own type of what is dropped.
  "vault/vaultView.js: Files",
];

const names = /^(?:Escape|Enter|Tab|Home|End|Page\w+|Arrow\w+|\w*Error|GET|…?Lockstep)$/u;

/** True for a literal that looks like a text: a word with a capital, or three words. */
const looksLikeText = (literal) => !names.test(literal)
  && (/^\W*[A-Z][a-z]+(?![\w-]|:\/)/u.test(literal)
    || (/[a-z]{2,} [a-z]{2,} [a-z]{3,}/u.test(literal) && / the |[.!?…]$|;|, /u.test(literal)));

/** Returns the literals of the code outside of texts, comments and imports. */
function literalsOf(code) {
  const bare = code.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^import[\s\S]*?;$/gmu, "");
  const inTexts = /(?<![\w.#])(?:t|tCount)\((?:[^"();]*,)?\s*(?:"(?:[^"\\]|\\.)*"[\s+,]*)+/gu;
  return [...bare.replace(inTexts, "").matchAll(/"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\\n]|\\.)*)`/gu)]
    .map(([, plain, template]) => plain ?? template.replace(/\$\{[^}]*\}/gu, "…"));
}

test("each text of the page is in the tables: no other literal looks like one", () => {
  const found = sources.filter(({ path }) => path !== sentencesOfApps)
    .flatMap(({ path, code }) => literalsOf(code).filter(looksLikeText)
      .map((literal) => `${path}: ${literal}`))
    .filter((it) => !notTexts.includes(it));
  assert.deepEqual(found, []);
});

test("the rule finds a text that was forgotten, and no other literal", () => {
  const code = 'element("p", { class: "row wide" }, "Not sent yet"); t("Sent"); say("Reload");\n'
    + "notify(`Removed ${name}.`); // \"A comment\"\n";
  assert.deepEqual(literalsOf(code).filter(looksLikeText),
    ["Not sent yet", "Reload", "Removed …."]);
});

test("a text stands once in each table", () => {
  for (const name of ["chinese", "japanese"]) {
    const code = readFileSync(new URL(`language/${name}.js`, root), "utf8");
    const keys = [...code.matchAll(/^ {2}("(?:[^"\\]|\\.)*"|\[[\s\S]*?\]):/gmu)]
      .map(([, it]) => it);
    assert.deepEqual(keys.filter((it, index) => keys.indexOf(it) !== index), [], name);
  }
});

test("the browser's languages choose the page's, and a person's choice comes first", () => {
  assert.equal(languageFor(null, ["de-AT", "ja-JP", "en"]), "ja");
  assert.equal(languageFor(null, ["zh-CN"]), "zh-Hans");
  assert.equal(languageFor(null, ["zh-TW", "zh", "en"]), "zh-Hans");
  assert.equal(languageFor(null, ["zh-Hant-HK", "en-GB"]), "en");
  assert.equal(languageFor(null, ["de"]), "en");
  assert.equal(languageFor("ja", ["zh-CN"]), "ja");
  // A former page may have kept something else.
  assert.equal(languageFor("tlh", ["zh-CN"]), "zh-Hans");
  assert.equal(languageOfTag("zh-Hans-TW"), "zh-Hans");
});

test("a text has its values in the order of the language", () => {
  assert.equal(t("Remove {name}", { name: "laptop" }), "Remove laptop");
  assert.equal(t("Remove {name}"), "Remove {name}");
  setLanguage("ja", { "Remove {name}": "{name}を削除" });
  assert.equal(t("Remove {name}", { name: "{name} $& laptop" }), "{name} $& laptopを削除");
  assert.equal(t("toString"), "toString", "a text without a translation stays English");
});

test("a count has the English singular, and one form elsewhere", () => {
  const shown = (count) => tCount(count, "{count} memo", "{count} memos");
  assert.deepEqual([0, 1, 2].map(shown), ["0 memos", "1 memo", "2 memos"]);
  setLanguage("zh-Hans", { "{count} memos": "{count} 条备忘录" });
  assert.deepEqual([0, 1, 2].map(shown), ["0 条备忘录", "1 条备忘录", "2 条备忘录"]);
});

test("a refusal of an app is told in the person's language, in English as the app says it", () => {
  const root = new URL("../../../Sources/WebClient/apps/", import.meta.url);
  const code = readdirSync(root, { recursive: true }).filter((path) => path.endsWith(".js"))
    .map((path) => readFileSync(new URL(path, root), "utf8")).join("\n")
    .replace(/"\s*\+\s*"/gu, "").replaceAll("${noun}", "memo");
  for (const reason of refusals) {
    assert.ok(code.includes(reason), `an app says: ${reason}`);
    assert.equal(refusalText(reason), sentence(reason));
  }
  const refused = { name: "EditError", code: "refused", message: refusals[0] };
  assert.equal(errorText(refused), sentence(refusals[0]));
  setLanguage("ja", japanese);
  assert.equal(errorText(refused), "どちらかのバージョンが変更されました。もう一度比較してください。");
  assert.equal(errorText({ ...refused, message: "memos do not know that order" }),
    "Memos do not know that order.");
});
