import assert from "node:assert/strict";
import test from "node:test";
import { TypedTexts } from "../../../Sources/WebClient/page/shell/typedTexts.js";

const field = (defaultValue, value = defaultValue) => ({ defaultValue, value });

/** Returns the memory of a tab, and what is in it. */
function tab() {
  const kept = new Map();
  return { kept, read: (name) => kept.get(name) ?? null,
    write: (name, text) => kept.set(name, text), remove: (name) => kept.delete(name) };
}

test("who chooses another language finds what was typed, once", () => {
  const memory = tab();
  const before = { drafts: { code: field("", "7Q2M"), name: field("Chrome on Linux") } };
  new TypedTexts(memory).keep([["welcome", before], ["habits", {}]]);

  const after = { drafts: { code: field(""), name: field("Linux の Chrome") } };
  new TypedTexts(memory).restore([["welcome", after]]);
  assert.equal(after.drafts.code.value, "7Q2M");
  assert.equal(after.drafts.name.value, "Linux の Chrome", "a default name is no text of a person");
  assert.equal(memory.kept.size, 0, "nothing stays in the tab");
});

test("a browser that keeps nothing loses the texts, and nothing else", () => {
  const memory = { read: () => null, write: () => null, remove: () => null };
  const view = { drafts: { code: field("", "7Q2M") } };
  new TypedTexts(memory).keep([["welcome", view]]);
  new TypedTexts(memory).restore([["welcome", view]]);
  assert.equal(view.drafts.code.value, "7Q2M");
});
