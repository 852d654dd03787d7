/**
 * Language of the page. The English text stands in the code where it is shown, and is the key of
 * the other languages' tables (`chinese.js`, `japanese.js`):
 *
 *     t("Remove {name}", { name })
 *     tCount(waiting, "{count} change is on the way.", "{count} changes are on the way.")
 *
 * A text is a literal, or literals joined with `+`: a test collects them from the code, and
 * compares them with the tables. A whole sentence is one text, with named parts, since the order of
 * words differs. The language is set before the page starts (`loadLanguage`), and another one needs
 * a reload. So texts are made when they are shown, and not when a module is loaded.
 */

/** Languages with their own names, for a person who chooses one. */
export const languages = Object.freeze([
  { language: "en", ownName: "English" },
  { language: "zh-Hans", ownName: "简体中文" },
  { language: "ja", ownName: "日本語" },
]);

/** Locales of dates and numbers. In English a day comes before its month. */
const locales = Object.freeze({ en: "en-GB", "zh-Hans": "zh-Hans", ja: "ja" });

const tables = {
  "zh-Hans": () => import("./chinese.js").then((it) => it.chinese),
  ja: () => import("./japanese.js").then((it) => it.japanese),
};

const english = Object.freeze({ language: "en", table: Object.freeze({}) });
/** Set once, before the page starts. */
let current = english;

/**
 * Returns the language of a tag such as `ja-JP`, by BCP 47; null if the page does not have it.
 * Chinese in traditional characters is another language.
 */
export function languageOfTag(tag) {
  const [language, ...rest] = String(tag).toLowerCase().split("-");
  if (language === "en" || language === "ja") return language;
  const isTraditional = !rest.includes("hans")
    && ["hant", "tw", "hk", "mo"].some((it) => rest.includes(it));
  return language === "zh" && !isTraditional ? "zh-Hans" : null;
}

/**
 * Returns the language for a person.
 * @param {string | null} choice what the person chose in this browser
 * @param {readonly string[]} preferences tags of the browser, best first
 */
export function languageFor(choice, preferences) {
  if (languages.some(({ language }) => language === choice)) return choice;
  return preferences.map(languageOfTag).find((it) => it !== null) ?? "en";
}

/** Loads the texts of a language. The page stays in English if they cannot be loaded. */
export async function loadLanguage(language) {
  const load = Object.hasOwn(tables, language) ? tables[language] : null;
  current = english;
  if (load === null) return;
  try {
    setLanguage(language, await load());
  } catch {
    // Offline, with an older shell: the page works in English.
  }
}

/** Uses these texts. */
export function setLanguage(language, table) { current = Object.freeze({ language, table }); }

/** The language of the texts. */
export const currentLanguage = () => current.language;

/** Locale for `Intl`. */
export const currentLocale = () => locales[current.language];

/** Returns a text in the person's language, with the values in the place of their names. */
export function t(text, values = {}) {
  return filled(translationOf(text), values);
}

/**
 * Returns the text for a number, which is the value `count`. The tables have the text for many:
 * Chinese and Japanese do not distinguish them.
 */
export function tCount(count, one, many, values = {}) {
  const isOne = current.language === "en" && count === 1;
  return filled(isOne ? one : translationOf(many), { ...values, count });
}

const translationOf = (text) => (Object.hasOwn(current.table, text) ? current.table[text] : text);

const filled = (text, values) => text.replace(/\{(\w+)\}/gu,
  (whole, name) => (Object.hasOwn(values, name) ? String(values[name]) : whole));
