import { currentLanguage, currentLocale, t } from "../language/language.js";

/** Joins whole sentences; leaves out what is null, false or empty. Chinese and Japanese have no
 * space between sentences. */
export const joinSentences = (texts) =>
  texts.filter(Boolean).join(currentLanguage() === "en" ? " " : "");

/** Joins names in a sentence: `Memos, Timer and Vault`. */
export const listed = (names) =>
  new Intl.ListFormat(currentLocale(), { type: "conjunction" }).format(names);

/** Joins names as a bare list: `Memos, Timer`. */
export const enumerated = (names) => names.join(t(", "));

/** Returns a name in quotation marks. */
export const quoted = (name) => t("“{name}”", { name });

/** Adds a capital and a full stop to a sentence of the client if they are missing. */
export function sentence(text) {
  const [first = "", ...rest] = String(text).trim();
  const words = first.toUpperCase() + rest.join("");
  return /[.!?。！？]$/u.test(words) ? words : `${words}.`;
}

const zoneNames = {
  Timer: () => t("Timer"), Clipboard: () => t("Clipboard"), Memos: () => t("Memos"),
  Habits: () => t("Habits"), Vault: () => t("Vault"), Keys: () => t("Keys"),
};

/** Returns the name of a zone: of an app's in the person's language, and of another as it is. */
export const zoneText = (zone) => (Object.hasOwn(zoneNames, zone) ? zoneNames[zone]() : zone);
