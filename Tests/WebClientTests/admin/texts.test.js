import assert from "node:assert/strict";
import test from "node:test";
import { messageFor, offerOf, signInCode, validityText }
  from "../../../Sources/WebClient/admin/codeModel.js";
import { deviceRows } from "../../../Sources/WebClient/admin/deviceModel.js";
import { planFields, planOfFields } from "../../../Sources/WebClient/admin/planModel.js";
import { backupText, checkText, storeFacts }
  from "../../../Sources/WebClient/admin/storeModel.js";

const now = Date.UTC(2026, 2, 3, 12);
const day = 86_400_000;

test("a plan comes back from its form as it was", () => {
  for (const plan of [
    { zones: null }, { zones: [] }, { zones: ["Timer", "Memos", "recipes of mum"] },
    { zones: ["Vault"], recordBytes: 50 * 2 ** 20, records: 0 },
    { zones: null, recordBytes: 1 }, { zones: null, recordBytes: 3 * 2 ** 20 + 7 },
  ]) {
    const shown = { recordBytes: null, records: null, ...plan };
    assert.deepEqual(planOfFields(planFields(shown)), { plan });
  }
});

test("a plan that the relay would refuse is told beside its field", () => {
  const fields = planFields({ zones: [], recordBytes: null, records: null });
  const problemOf = (changes) => planOfFields({ ...fields, ...changes }).field;
  for (const mebibytes of ["x", "-1", "1e9", "1.", `${2 ** 31}`]) {
    assert.equal(problemOf({ mebibytes }), "mebibytes", mebibytes);
  }
  for (const records of ["1.5", "many", "9".repeat(17)]) {
    assert.equal(problemOf({ records }), "records", records);
  }
  const others = Array.from({ length: 101 }, (_, index) => `zone ${index}`).join("\n");
  assert.equal(problemOf({ others }), "others");
  assert.deepEqual(planOfFields({ ...fields, records: " 1,000 ", others: "\n a \n\na\n" }),
    { plan: { zones: ["a"], records: 1_000 } });
});

test("a code has the relay's link, or one made of its address, or none", () => {
  const made = { accountID: "01", code: "7Q2M-0XKD-9RTA", expiresAt: now };
  assert.equal(offerOf({ ...made, link: "https://a/#code=x", relay: "https://b" }).link,
    "https://a/#code=x");
  assert.equal(offerOf({ ...made, relay: "https://b" }).link, "https://b/#code=7Q2M-0XKD-9RTA");
  assert.equal(offerOf(made).link, null);
  assert.throws(() => offerOf({ ...made, code: 3 }), { code: "intercepted" });
});

test("a code says until when it works", () => {
  assert.equal(validityText(now + 600_000, now, 60),
    "It works once, for one device, until 13:10.");
  assert.equal(validityText(now + 7 * day, now, 60),
    "It works once, for one device, until 10 March 2026, 13:00.");
  assert.match(validityText(now, now, 60), /too old/);
  assert.match(messageFor({ link: "https://b/#code=x" }, "Until 13:10."), /^Open .*\nUntil/);
});

test("a person may paste the link to sign in, or the code alone", () => {
  const code = "abcDEF_-0123456789abcdefghi";
  assert.equal(signInCode(`http://127.0.0.1:5626/admin#code=${code} `), code);
  assert.equal(signInCode(` ${code}`), code);
  for (const text of ["", "#code=", "http://127.0.0.1:5626/admin", `${code}!`, "a".repeat(129)]) {
    assert.equal(signInCode(text), null, text);
  }
});

test("connected devices come first, then those that were seen last", () => {
  const rows = deviceRows([
    { deviceID: "1", deviceName: "old", platform: "web", lastSeen: now - day },
    { deviceID: "2", deviceName: "", platform: "Linux", appVersion: "1.0", lastSeen: 5,
      connected: true, scope: { zones: ["Memos"], access: "read" } },
    { deviceID: "3", deviceName: "new", lastSeen: now - 60_000, joinedAt: now - 2 * day },
    {},
  ], now, 0);
  assert.deepEqual(rows.map(({ name }) => name),
    ["Unnamed device", "new", "old", "Unnamed device"]);
  assert.equal(rows[0].about, "Connected now · Linux · version 1.0");
  assert.equal(rows[0].scope, "Only Memos, read-only");
  assert.equal(rows[1].about, "Seen 1 min ago · joined 1 March 2026");
  assert.equal(rows[2].about, "Seen yesterday · web");
  assert.equal(rows[2].scope, "The whole account");
});

test("a backup that is missing, old or failed asks the owner to act", () => {
  const told = (backup, kind = "sqlite") => backupText({ kind, backup }, now, 0);
  const made = { at: now - day, path: "/b/1", bytes: 2 ** 20, ok: true };
  assert.deepEqual(told(made), { tone: "good", title: "Made yesterday", lines: ["/b/1, 1 MiB"] });
  assert.equal(told({ ...made, at: now - 7 * day }).tone, "good");
  const old = told({ ...made, at: now - 7 * day - 1 });
  assert.equal(old.tone, "bad");
  assert.equal(old.title, "Made on 24 February 2026");
  assert.match(old.lines.at(-1), /more than 7 days/);
  const failed = told({ ...made, at: now - 3_600_000, ok: false, detail: "the disk is full" });
  assert.equal(failed.title, "Failed today at 11:00");
  assert.deepEqual(failed.lines.slice(0, 2),
    ["the disk is full.", "No backup has succeeded yet."]);
  const since = told({ ...made, at: now - 3_600_000, goodAt: now - day, ok: false });
  assert.equal(since.lines[1], "The last good one was made yesterday.");
  assert.equal(told(null).tone, "bad");
  assert.equal(told(null, "postgres").tone, "plain");
  assert.equal(told({ ok: true, at: "x" }).tone, "bad");
});

test("a check with a finding is told as damage", () => {
  const told = (check) => checkText({ check }, now, 0);
  assert.deepEqual(told({ at: now, ok: true, findings: 0, target: "backup" }),
    { tone: "good", title: "Without a finding, just now", lines: ["Checked: a backup."] });
  const damaged = told({ at: now, ok: false, findings: 1, target: "store" });
  assert.equal(damaged.tone, "bad");
  assert.equal(damaged.lines[0], "1 finding in the store.");
  assert.equal(told(null).title, "None yet");
});

test("the store's facts say what is not known", () => {
  const facts = new Map(storeFacts({ kind: "sqlite", bytes: 2 ** 20, logBytes: 0, freeBytes: null,
    version: "1.0", startedAt: now - 3_600_000, open: false, url: null }, now, 0));
  assert.equal(facts.get("Room taken"), "1 MiB");
  assert.equal(facts.has("Room free on the disk"), false);
  assert.equal(facts.get("Running since"), "3 March 2026, 11:00 (1 h)");
  assert.match(facts.get("Address for devices"), /public-url/);
  assert.equal(new Map(storeFacts({}, now, 0)).get("Version"), "–");
});
