import { limits } from "../limits.js";
import { element } from "./element.js";

/** Gives a text to the browser as a file to keep. */
export function download(browser, name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: url, download: name }).click();
  browser.setTimer(() => URL.revokeObjectURL(url), limits.copyMilliseconds);
}
