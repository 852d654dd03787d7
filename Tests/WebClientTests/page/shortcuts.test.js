import assert from "node:assert/strict";
import test from "node:test";
import { shortcutKey } from "../../../Sources/WebClient/page/shell/keyPress.js";

/** Returns an element for which only one of the selectors' words holds. */
const focused = (word) => ({ closest: (selector) => selector.includes(word) });

const press = (key, more = {}) =>
  shortcutKey({ key, code: "", target: focused("body"), ...more });

test("a letter alone is a shortcut, and what belongs to another is not", () => {
  assert.equal(press("s"), "s");
  assert.equal(press("?", { shiftKey: true }), "?");
  for (const held of ["ctrlKey", "metaKey", "altKey", "isComposing", "defaultPrevented"]) {
    assert.equal(press("s", { [held]: true }), null, held);
  }
  assert.equal(press("s", { keyCode: 229 }), null);
  for (const key of ["Enter", "Tab", "Escape", "ArrowDown", "F5", "Dead", undefined]) {
    assert.equal(press(key), null);
  }
});

test("while an input method composes a text, no key is a shortcut", () => {
  // Chromium and Firefox name the key that the input method takes "Process"; Safari ends the
  // composition first, and shows with the key code that the key was the input method's.
  const keys = [..."abcdefghijklmnopqrstuvwxyz1234567890?/ ", "Enter", "Process", "あ", "的"];
  for (const key of keys) {
    for (const sign of [{ isComposing: true }, { keyCode: 229 }]) {
      assert.equal(press(key, { code: "KeyA", ...sign }), null, key);
    }
  }
});

test("text fields get all keys, and buttons the space key", () => {
  for (const field of ["textarea", "contenteditable", "select"]) {
    assert.equal(press("s", { target: focused(field) }), null, field);
  }
  assert.equal(press(" ", { target: focused("button,") }), null);
  assert.equal(press("s", { target: focused("summary") }), "s");
  assert.equal(press(" "), " ");
  assert.equal(press("s", { target: null }), "s");
});

test("with other letters, the place of the key counts", () => {
  assert.equal(press("ы", { code: "KeyS" }), "s");
  assert.equal(press("あ", { code: "KeyA" }), "a");
  assert.equal(press("ö", { code: "Semicolon" }), null);
  // On a Latin keyboard the letter counts, wherever its key is.
  assert.equal(press("z", { code: "KeyY" }), "z");
});
