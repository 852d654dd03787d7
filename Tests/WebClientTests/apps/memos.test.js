import assert from "node:assert/strict";
import test from "node:test";
import { memoContents, memosWith } from "../../../Sources/WebClient/apps/memos/memoContents.js";
import { memosApp } from "../../../Sources/WebClient/apps/memos/memosApp.js";
import { numberOf, serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { TestPage } from "../support/testPage.js";

const titles = (page) => memoContents(page.state).map((memo) => memo.title);
const theirs = "000000000000000b";

test("a memo is written, read and found", () => {
  const page = new TestPage(memosApp);
  const { changes: [{ name }] } = page.act({ do: "add", content: "Milk\nand Eggs" });
  page.act({ do: "add", content: "Plan ΟΔΟΣ" });
  assert.deepEqual(page.fields(name), {
    title: "Milk", content: "Milk\nand Eggs", date: 1_772_366_400_000,
  });
  assert.deepEqual(titles(page), ["Plan ΟΔΟΣ", "Milk"]);
  const found = (words) => memosWith(words, memoContents(page.state)).map((memo) => memo.title);
  assert.deepEqual(found("eggs MILK"), ["Milk"]);
  assert.deepEqual(found("bread"), []);
  assert.deepEqual(found("eggs plan"), []);
  assert.deepEqual(found("οδοσ"), ["Plan ΟΔΟΣ"]);
  assert.deepEqual(found("  "), ["Plan ΟΔΟΣ", "Milk"]);
});

test("a memo that is written anew comes first, and one that is removed is gone", () => {
  const page = new TestPage(memosApp);
  const { changes: [{ name }] } = page.act({ do: "add", content: "Milk" });
  page.act({ do: "add", content: "Plan" });
  page.act({ do: "edit", memo: name, was: "Milk", content: "Bread\nMilk" });
  assert.deepEqual(titles(page), ["Bread", "Plan"]);
  page.act({ do: "remove", memo: name });
  assert.deepEqual(titles(page), ["Plan"]);
  assert.match(page.refusal({ do: "edit", memo: name, was: "", content: "x" }), /not there/);
});

test("a text that changed while the person wrote is kept as well", () => {
  const page = new TestPage(memosApp);
  const { changes: [{ name }] } = page.act({ do: "add", content: "Milk" });
  const arrived = { title: "Eggs", content: "Eggs", date: 7, colour: "red" };
  page.addRemote(name, "Memo", arrived, page.now - 500);
  const { changes } = page.act({ do: "edit", memo: name, was: "Milk", content: "Bread" });
  const copy = `${name}~${theirs}-${page.now - 1_500}`;
  assert.deepEqual(changes.map((it) => it.name), [copy, name]);
  assert.deepEqual(page.fields(copy), arrived);
  assert.equal(page.fields(name).content, "Bread");
  // Fields that this version does not know stay.
  assert.equal(page.fields(name).colour, "red");
  page.state.deviceNames = { [theirs]: "laptop" };
  const last = memoContents(page.state).at(-1);
  assert.deepEqual([last.title, last.copyOf, last.copyFrom], ["Eggs", name, "laptop"]);
  // The same text on both sides leaves no copy.
  const again = page.act({ do: "edit", memo: name, was: "Milk", content: "Bread" });
  assert.equal(again.changes.length, 1);
});

test("a memo that was removed comes back as it was, once", () => {
  const page = new TestPage(memosApp);
  const { changes: [{ name }] } = page.act({ do: "add", content: "Milk", name: "mine" });
  assert.equal(name, "mine");
  assert.match(page.refusal({ do: "add", content: "Eggs", name }), /there already/);
  page.addRemote(name, "Memo", { ...page.fields(name), colour: "red" }, page.now);
  const fields = page.fields(name);
  page.act({ do: "remove", memo: name });
  assert.deepEqual(titles(page), []);
  page.act({ do: "restore", memo: name, fields });
  assert.deepEqual(page.fields(name), fields);
  assert.ok(page.record(name).modifiedAt > fields.date);
  assert.match(page.refusal({ do: "restore", memo: name, fields }), /there already/);
});

/** Returns a page with a memo of which a conflict has left a copy, and both names. */
function pageWithCopy() {
  const page = new TestPage(memosApp);
  const { changes: [{ name }] } = page.act({ do: "add", content: "Bread" });
  const copy = `${name}~${theirs}-1772366400000`;
  page.addRemote(copy, "Memo", { title: "Eggs", content: "Eggs", date: 7, colour: "red" }, 9);
  const resolve = (keep) =>
    ({ do: "resolve", copy, keep, was: page.fields(name)?.content ?? "", copyWas: "Eggs" });
  return { page, name, copy, resolve };
}

test("of two versions a person keeps this one, the other or both", () => {
  for (const [keep, left] of [["this", ["Bread"]], ["other", ["Eggs"]],
    ["both", ["Bread", "Eggs"]]]) {
    const { page, name, resolve } = pageWithCopy();
    page.act(resolve(keep));
    assert.deepEqual(titles(page), left, keep);
    assert.deepEqual(memoContents(page.state).map((it) => it.copyOf), left.map(() => null));
    assert.equal(page.fields(name).content, left[0]);
  }
});

test("two devices that keep both versions make one memo, with all that it had", () => {
  const names = [pageWithCopy(), pageWithCopy()].map(({ page, resolve }) =>
    page.act(resolve("both")).changes.map((it) => it.name));
  assert.deepEqual(names[0], names[1]);
  const { page, copy, resolve } = pageWithCopy();
  page.addRemote(names[0][0], "Memo", { title: "Eggs", content: "Eggs", date: 7 }, 20);
  assert.deepEqual(page.act(resolve("both")).changes.map((it) => it.name), [copy]);
  const other = pageWithCopy();
  other.page.addRemote(names[0][0], "Memo", { title: "Fish", content: "Fish", date: 7 }, 20);
  other.page.act(other.resolve("both"));
  assert.deepEqual(titles(other.page).sort(), ["Bread", "Eggs", "Fish"]);
  assert.equal(other.page.state.records.find((it) => it.fields?.content === "Eggs").fields.colour,
    "red");
});

test("a conflict is not decided on texts that the person has not seen", () => {
  const { page, name, copy, resolve } = pageWithCopy();
  const seen = resolve("other");
  page.addRemote(name, "Memo", { title: "New", content: "New", date: 8 }, page.now);
  assert.match(page.refusal(seen), /compare them again/);
  assert.match(page.refusal({ ...resolve("this"), copyWas: "x" }), /compare them again/);
  assert.match(page.refusal({ ...resolve("this"), copy: name }), /no other version/);
  assert.match(page.refusal(resolve("neither")), /this, other or both/);
  page.act({ do: "remove", memo: name });
  assert.match(page.refusal(resolve("this")), /not there/);
  // Without the memo, the copy can still become one of its own.
  page.act(resolve("both"));
  assert.deepEqual(titles(page), ["Eggs"]);
  assert.match(page.refusal({ ...resolve("both"), copy }), /not there/);
});

test("a date that proves wrong is corrected with its stamp", () => {
  const moved = (fields, base, type = "Memo") =>
    memosApp.restamped(fields, { type, base, from: 90_000, to: 70_000 });
  const written = { title: "Milk", content: "Milk", date: 90_000 };
  const corrected = { ...written, date: 70_000 };
  assert.deepEqual(moved(written, null), corrected);
  assert.deepEqual(moved(written, { content: "Bread", date: 10_000 }), corrected);
  // This device did not set the date of another device's text.
  assert.deepEqual(moved(corrected, corrected), corrected);
  assert.deepEqual(moved(written, written), written);
  assert.deepEqual(moved(written, null, "Other"), written);
});

test("a name that merely looks like a copy's is none", () => {
  const page = new TestPage(memosApp);
  for (const name of ["a~b", "a~b-c", "a-5", "a-5~b", "a~b-"]) {
    page.addRemote(name, "Memo", { content: name, date: 1 }, 1);
  }
  assert.deepEqual(memoContents(page.state).map((memo) => memo.copyOf), Array(5).fill(null));
});

test("what another program wrote oddly is shown as far as it goes, and stays as it is", () => {
  const page = new TestPage(memosApp);
  const rating = numberOf("0.1234567890123456789");
  page.addRemote("a", "Memo", { content: 5, date: "never", rating }, 9);
  page.addRemote("b", "Memo", { content: "b", date: numberOf("1e300") }, 1);
  assert.deepEqual(memoContents(page.state).map(({ title, date }) => [title, date]), [
    ["b", 2 ** 60], ["", 9],
  ]);
  page.act({ do: "edit", memo: "a", was: "", content: "text" });
  assert.match(serialize(page.fields("a")), /"rating":0.1234567890123456789/);
});

test("what makes no sense is refused in a sentence", () => {
  const page = new TestPage(memosApp);
  const { changes: [{ name }] } = page.act({ do: "add", content: "Milk" });
  for (const action of [{ do: "add", content: " \n\u00a0\u3000" }, { do: "add", content: "" },
    { do: "edit", memo: name, was: "Milk", content: "\t" }, { do: "edit", memo: name },
    { do: "edit", memo: "other", was: "", content: "x" }, { do: "remove", memo: "1" },
    { do: "add", content: "x", name: "" }, { do: "restore", memo: "", fields: {} },
    { do: "restore", memo: "a", fields: null }, { do: "resolve", copy: name }, { do: "resolve" },
    { do: "dance" }, {}, null]) {
    assert.ok(page.refusal(action));
  }
});
