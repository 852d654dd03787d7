import { limits } from "../limits.js";
import { element } from "./element.js";

/** Gives a text, or a blob, to the browser as a file to keep. */
export function download(browser, name, type, content) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  browser.setTimer(() => URL.revokeObjectURL(url), limits.copyMilliseconds);
}
