import { t } from "../language/language.js";

/**
 * Returns shortcuts for the rows of a list, with the letters of the terminal's views: they move the
 * focus to the first control of a row.
 *
 * @param {Element} list an element whose children are the rows
 */
export function listKeys(list) {
  const move = (by) => {
    const rows = [...list.children].filter((row) => control(row));
    const now = rows.findIndex((row) => row.contains(document.activeElement));
    const next = now < 0 ? 0 : Math.min(Math.max(now + by, 0), rows.length - 1);
    control(rows[next])?.focus();
  };
  return [
    { keys: ["j"], words: t("To the next row"), act: () => move(1), repeats: true },
    { keys: ["k"], words: t("To the row before"), act: () => move(-1), repeats: true },
    { keys: ["g"], words: t("To the first row"), act: () => move(-Infinity) },
    { keys: [" "], words: t("A page down"), act: () => scrollBy(0, pageHeight()), repeats: true },
    { keys: ["b"], words: t("A page up"), act: () => scrollBy(0, -pageHeight()), repeats: true },
  ];
}

/** Returns a shortcut for a view's search field. */
export function searchKey(search) {
  return { keys: ["/"], words: t("Search"), act: () => {
    if (!search.hidden) search.querySelector("input").focus();
  } };
}

/** Some rows of the former page stay in view. */
const pageHeight = () => innerHeight * 0.8;

const control = (row) => row?.querySelector("button:not(:disabled), a, input:not(:disabled)");
