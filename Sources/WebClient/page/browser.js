import { element } from "./components/element.js";
import { KeyWorker } from "./keyWorker.js";
import { systemPush } from "./wakes/browserPush.js";

/**
 * All inputs of the page from the browser (time, randomness, time zone, push, a worker) in one
 * value. Tests provide their own.
 */
export function systemBrowser() {
  return {
    setTimer: (act, milliseconds) => setTimeout(act, Math.max(0, milliseconds)),
    clearTimer: (timer) => clearTimeout(timer),
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
    /** Offset of the person's time zone from UTC at an instant, in minutes; positive to the
     * east. */
    minutesAhead: (instant) => -new Date(instant).getTimezoneOffset(),
    isSecure: globalThis.isSecureContext === true,
    push: systemPush(),
    keyWorker: new KeyWorker(),
  };
}

/**
 * Copies a text to the browser's clipboard. Over plain http only the old method works, by a
 * selection.
 *
 * @returns {Promise<boolean>} true if the text was copied
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

function copySelected(text) {
  const focused = document.activeElement;
  const field = element("textarea", { class: "visually-hidden", "aria-hidden": "true" });
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}
