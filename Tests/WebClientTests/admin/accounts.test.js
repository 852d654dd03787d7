import assert from "node:assert/strict";
import test from "node:test";
import { accountOf, accountPage, labelProblem, nameOf, planText, rangeText, rowOf }
  from "../../../Sources/WebClient/admin/accountsModel.js";

const now = Date.UTC(2026, 2, 3, 12);
const account = (label, changes = {}) => accountOf({
  accountID: label.padEnd(16, "0"), label, plan: { zones: null }, madeAt: 1, devices: 1,
  chunkBytes: 0, recordBytes: 0, records: 0, lastSeen: null, ...changes,
});
const namesOn = (page) => page.rows.map(({ label }) => label);
const choice = { query: "", order: "name", page: 0 };

test("two thousand accounts come in pages, and a search finds one of them", () => {
  const accounts = Array.from({ length: 2_000 }, (_, index) => account(`person ${index}`));
  const third = accountPage(accounts, { ...choice, page: 2 });
  assert.equal(third.rows.length, 50);
  // Numbers in names are compared as numbers.
  assert.equal(third.rows[0].label, "person 100");
  assert.equal(third.pages, 40);
  assert.equal(rangeText(third, 2_000), "101–150 of 2,000 accounts");
  const found = accountPage(accounts, { ...choice, query: " PERSON 1999 ", page: 2 });
  assert.deepEqual(namesOn(found), ["person 1999"]);
  assert.equal(found.page, 0);
  assert.equal(rangeText(found, 2_000), "1 of 2,000 accounts");
  const many = accountPage(accounts, { ...choice, query: "19" });
  assert.equal(rangeText(many, 2_000), "1–50 of 139 found, of 2,000 accounts");
});

test("a page beyond the end is the last one", () => {
  const accounts = [account("mum")];
  assert.deepEqual(namesOn(accountPage(accounts, { ...choice, page: 9 })), ["mum"]);
  assert.deepEqual(accountPage([], choice).rows, []);
  assert.equal(rangeText(accountPage(accounts, choice), 1), "1 account");
});

test("accounts are ordered by name, room, last seen and age", () => {
  const accounts = [
    account("", { accountID: "f".repeat(16), madeAt: 9 }),
    account("mum", { recordBytes: 5, chunkBytes: 5, lastSeen: 20, madeAt: 3 }),
    account("Élodie", { recordBytes: 7, lastSeen: 10, madeAt: 2 }),
    account("eric", { recordBytes: 1, madeAt: 1 }),
  ];
  const by = (order) => namesOn(accountPage(accounts, { ...choice, order }));
  assert.deepEqual(by("name"), ["Élodie", "eric", "mum", ""]);
  assert.deepEqual(by("room"), ["mum", "Élodie", "eric", ""]);
  assert.deepEqual(by("seen"), ["mum", "Élodie", "eric", ""]);
  assert.deepEqual(by("made"), ["", "mum", "Élodie", "eric"]);
});

test("an account without a name is found by its id", () => {
  const accounts = [account("", { accountID: "00ab".padEnd(16, "c") }), account("mum")];
  assert.equal(accountPage(accounts, { ...choice, query: "00ab" }).count, 1);
  assert.equal(nameOf(accounts[0]), "Account 00abcccccccccccc");
});

test("a row says what an account has", () => {
  const row = rowOf(account("mum", { recordBytes: 2 ** 20, chunkBytes: 2 ** 30, records: 1_200,
    devices: 2, lastSeen: now - 120_000, plan: { zones: ["Memos"], records: 1 } }), now, 0);
  assert.deepEqual(row, {
    id: "mum0000000000000", name: "mum", devices: "2", seen: "2 min ago", room: "1 GiB",
    files: "1 GiB", records: "1,200", plan: "Memos · at most 1 record",
  });
  assert.equal(rowOf(account("x"), now, 0).seen, "never");
  assert.equal(planText({ zones: [], recordBytes: 0, records: null }), "No zone · at most 0 B");
});

test("an answer with other values than numbers and texts is no fault of the page", () => {
  for (const value of [null, {}, { label: 3, plan: "x", madeAt: "1", lastSeen: {} },
    { plan: { zones: [1, "Memos"], records: "9" } }]) {
    const odd = accountOf(value);
    assert.equal(typeof rowOf(odd, now, 0).name, "string");
    assert.equal(accountPage([odd, account("mum")], choice).count, 2);
  }
});

test("a new account has a name that no other has", () => {
  const accounts = [account("mum")];
  assert.equal(labelProblem("Anna", accounts), null);
  assert.match(labelProblem("", accounts), /name/);
  assert.match(labelProblem("mum", accounts), /already/);
  assert.match(labelProblem("a\tb", accounts), /tab/);
  assert.match(labelProblem("\ud800", accounts), /letters/);
  assert.match(labelProblem("é".repeat(128), accounts), /too long/);
  assert.equal(labelProblem("é".repeat(127), accounts), null);
});
