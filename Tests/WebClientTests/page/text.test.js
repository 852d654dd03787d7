import assert from "node:assert/strict";
import test from "node:test";
import { browserName, codeIn, halvesOf, linkTo }
  from "../../../Sources/WebClient/page/text/deviceText.js";
import { isPhrase, phraseProblem, phraseProgress, wordsOfPhrase }
  from "../../../Sources/WebClient/page/text/phraseText.js";
import { abilities, hasZone, ownScopeText, readOnlyText, scopeText }
  from "../../../Sources/WebClient/page/text/scopeText.js";
import { errorText } from "../../../Sources/WebClient/page/text/errorText.js";
import { planText, syncText } from "../../../Sources/WebClient/page/text/syncText.js";
import { ago, clockTime, dayAt, duration, longDate, weekday }
  from "../../../Sources/WebClient/page/text/time.js";
import { proquints } from "../../../Sources/WebClient/sealing/proquints.js";

const noon = Date.UTC(2026, 2, 15, 12);

test("a code or link is read however it was typed, in its halves", () => {
  const [first, second] = ["7Q2M-0XKD-9RTA", "C4VH-1EZB-83NW"];
  for (const typed of [first, "  7q2m oxkd9rta ", linkTo("http://127.0.0.1:5625", first)]) {
    assert.equal(codeIn(typed), first);
  }
  const whole = `${first}-${second}`;
  for (const typed of [whole, "7q2moxkd9rta c4vhiezb83nw",
    `lockstep+${linkTo("http://127.0.0.1:5625", whole)}`]) {
    assert.equal(codeIn(typed), whole);
  }
  const marked = linkTo("http://127.0.0.1:5625", `${first}&keys`);
  assert.deepEqual([codeIn(marked), codeIn(`${marked}\n`)], [`${first}&keys`, `${first}&keys`]);
  assert.equal(codeIn(`${whole}&keys`), whole);
  assert.deepEqual([whole, first, `${first}&keys`].map(halvesOf),
    [[first, second], [first, ""], [first, ""]]);
  for (const wrong of ["", "7Q2M-0XKD", `${first}-C4VH`, "7Q2M-0XKD-9RT!", "7Q2M-0XKD-9RTU",
    "http://relay/#timer", "&keys", `${first}&key`]) {
    assert.equal(codeIn(wrong), null, wrong);
  }
});

test("how long ago something was is told in the person's own calendar", () => {
  const told = (instant, minutesAhead = 0) => ago(instant, noon, minutesAhead);
  assert.equal(told(noon + 5_000), "just now");
  assert.equal(told(noon - 59_999), "just now");
  assert.equal(told(noon - 5 * 60_000), "5 min ago");
  assert.equal(told(noon - 11 * 3_600_000), "01:00");
  assert.equal(told(noon - 11 * 3_600_000, -120), "yesterday");
  assert.equal(told(noon - 40 * 86_400_000), "3 February 2026");
  for (const instant of [-(2 ** 60), 2 ** 60 - 2 ** 61, -62_200_000_000_000]) {
    assert.equal(told(instant), "long ago", "in no calendar of four digits");
  }
  assert.equal(clockTime(0, 90), "01:30");
  assert.equal(clockTime(0, -1), "23:59");
  assert.equal(dayAt(noon, 13 * 60), "2026-03-16");
  assert.deepEqual([weekday("2026-03-15"), weekday("1969-12-31"), longDate("2026-03-05")],
    ["Sunday", "Wednesday", "5 March 2026"]);
  assert.deepEqual([45_000, 1_500_000, 5_400_000, 7_200_000].map(duration),
    ["45 s", "25 min", "1 h 30 min", "2 h"]);
});

const status = (changes) => ({
  state: "inSync", reason: null, since: null, waiting: 0, lastSync: noon, transport: "websocket",
  parked: [], parkedCount: 0, unreadableCount: 0, asking: [], askingCount: 0, setAsideCount: 0,
  needsKeys: false, lockedZones: [], blockedZones: [], zonesOutOfScope: [], clockOffset: 0,
  isDurable: true, storeReason: null, accountID: "a", deviceID: "d", scope: null, ...changes,
});
const told = (changes) => syncText(status(changes), noon, 0);

test("the sync is told as it is, in each state", () => {
  assert.deepEqual(told({}), {
    tone: "good", short: "In sync", canSync: true, again: "Sync now",
    lines: ["All changes are on the relay, and all of its changes are here.", "Connected, live."],
  });
  const offline = told({
    state: "offline", waiting: 3, reason: "no answer", since: noon - 120_000, lastSync: null,
  });
  assert.equal(offline.short, "Offline, 3 waiting");
  assert.deepEqual(offline.lines, [
    "The connection was lost 2 min ago.", "No answer.",
    "3 changes kept here, and sent once there is a connection.",
  ]);
  assert.equal(told({ state: "offline", since: noon }).short, "Offline");
  const readOnly = told({ state: "offline", since: noon, scope: { access: "read" } });
  assert.ok(!readOnly.lines.join().includes("What you do"), readOnly.lines.join());
  const held = told({ state: "offline", since: noon, waiting: 2, zonesOutOfScope: ["Memos"] });
  assert.ok(!held.lines.join().includes("sent once there is a connection"), held.lines.join());
  assert.equal(told({ state: "syncing", waiting: 1 }).lines[0], "1 change on the way.");
  assert.equal(told({ state: "needsPerson", askingCount: 1 }).short, "Waits for you");
  const refusal = { code: "recordTooLarge", detail: "The record is too large" };
  const refused = told({
    state: "needsPerson", parkedCount: 2, parked: [{ refusal }, { refusal }], waiting: 0,
  });
  assert.equal(refused.short, "2 refused");
  assert.equal(refused.again, "Try again");
  assert.ok(refused.lines.includes("The relay refused 2 changes: The record is too large. "
    + "Kept here; “Try again” sends what was refused once more."));
  const large = told({ state: "needsPerson", setAsideCount: 1, waiting: 1 });
  assert.deepEqual([large.short, large.again], ["1 held back", "Try again"]);
  assert.match(large.lines.join(" "), /between this browser and the relay refuses large requests/);
  const unreadable = told({ state: "needsPerson", unreadableCount: 2 });
  assert.deepEqual([unreadable.short, unreadable.again], ["2 not readable", "Try again"]);
  assert.match(unreadable.lines.join(" "), /2 records on the relay cannot be opened/);
  assert.equal(told({ state: "failed", reason: "no room left" }).lines[0], "No room left.");
  assert.equal(told({ state: "closed" }).canSync, false);
});

test("what a person must know is told in every state, and never that all is well", () => {
  const states = ["needsPairing", "syncing", "needsPerson", "offline", "plan", "failed", "closed"];
  for (const state of states) {
    const { tone, lines } = told({
      state, isDurable: false, storeReason: "this browser keeps nothing", blockedZones: ["Memos"],
    });
    assert.notEqual(tone, "good", state);
    assert.ok(lines.includes("The account's plan leaves out Memos."), state);
    assert.ok(lines.includes("Nothing outlives this tab: This browser keeps nothing."), state);
  }
});

test("a browser's name is short, and of what it says of itself", () => {
  const gecko = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
  const iPhone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 "
    + "(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";
  const edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    + "Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0";
  assert.deepEqual([gecko, iPhone, edge, "curl", ""].map(browserName),
    ["Firefox on Linux", "Safari on iPhone", "Edge on Windows", "Browser", "Browser"]);
});

test("a typed phrase is read as a list or a line, and its wrong words are named", () => {
  const words = proquints(Uint8Array.from({ length: 34 }, (_, at) => (at * 37) & 255));
  const list = words.map((word, at) => `${at + 1}. ${word.toUpperCase()}`).join("\r\n");
  for (const typed of [words.join(" "), list, `“${words.join(", ")}”`]) {
    assert.deepEqual(wordsOfPhrase(typed), { count: 17, wrong: [] });
    assert.equal(phraseProblem(typed), null);
    assert.equal(phraseProgress(typed), "Words so far: 17 of 17.");
  }
  const wrong = ["house", ...words.slice(1, 16), "babax"].join(" ");
  assert.match(phraseProblem(wrong),
    /^Not a word of a phrase: “house” \(word 1\), “babax” \(word 17\)\. Each has five letters/);
  // The word that is being typed is not complete.
  assert.equal(phraseProgress(`${words.slice(0, 8).join(" ")} ba`), "Words so far: 9 of 17.");
  assert.match(phraseProgress(`${words.slice(0, 8).join(" ")} ba `), /“ba” \(word 9\)/);
  // A code is no phrase, and words without spaces are read by their letters.
  const code = "7Q2M-0XKD-9RTA-C4VH-1EZB-83NW";
  const link = `lockstep+https://relay.example.org/#code=${code}`;
  for (const text of [code, link, "7Q2M-BABAB-", "", "abcd efgh "]) {
    assert.equal(isPhrase(text), false);
    assert.equal(phraseProgress(text), "");
  }
  assert.equal(phraseProblem(words.join("")), null);
  assert.ok(phraseProblem("z ".repeat(400)).length < 200);
});

test("why something did not work ends with what helps", () => {
  assert.match(errorText({ code: "badPairingCode", message: "x" }),
    /Ask for a new one where it came from/);
  assert.match(errorText({ name: "CallError", message: "Failed to fetch" }), /try again/);
  assert.equal(errorText({ message: "nothing is running; start the timer first" }),
    "Nothing is running; start the timer first.");
});

test("where the plan leaves a zone out, its view says so, and no other", () => {
  const part = status({ state: "needsPerson", blockedZones: ["Clipboard"], waiting: 1 });
  assert.match(planText(part, "Clipboard"), /^Clipboard is not in the account's plan: .+\.$/);
  assert.equal(planText(part, "Memos"), "");
});

test("where this browser lacks the keys, view and sync status say so, and what helps", () => {
  const locked = { state: "needsPerson", lockedZones: ["Memos"], unreadableCount: 2 };
  assert.match(planText(status(locked), "Memos"), /^Memos is sealed, .+ Under Devices, type .+\.$/);
  assert.equal(planText(status(locked), "Timer"), "");
  const { short, lines } = told(locked);
  assert.equal(short, "Keys missing");
  assert.ok(lines.some((line) => line.includes("Under Devices")));
  assert.ok(!lines.some((line) => line.includes("sign out")));
});

test("what a device may do is told in plain words, and the whole account needs none", () => {
  const memos = { zones: ["Memos"], access: "read" };
  const several = { zones: ["Memos", "Timer", "Vault"], access: "write" };
  assert.deepEqual([null, undefined, { access: "write" }, memos, several, { access: "read" }]
    .map(scopeText), ["", "", "", "Only Memos, read-only", "Only Memos, Timer and Vault",
    "Everything, read-only"]);
  assert.deepEqual([undefined, memos, several, { access: "read" }].map(abilities), [
    "The new device may use the whole account.",
    "The new device may only read Memos, and sees nothing else of the account.",
    "The new device may use Memos, Timer and Vault, and sees nothing else of the account.",
    "The new device may only read the whole account.",
  ]);
});

test("a browser for a part of the account says what it cannot do, and what helps", () => {
  const memos = { zones: ["Memos"], access: "read" };
  assert.match(ownScopeText(memos), /paired to only read Memos, .+ use a device with the whole/);
  assert.match(ownScopeText({ access: "read" }), /paired to only read the account, /);
  assert.equal(ownScopeText(null), "");
  assert.match(readOnlyText(memos, "Memos"), /to read only\. .+ in Memos .+ use one of them/);
  assert.deepEqual([readOnlyText({ ...memos, access: "write" }, "Memos"),
    readOnlyText(null, "Memos"), readOnlyText(memos, undefined)], ["", "", ""]);
  assert.deepEqual([hasZone(memos, "Memos"), hasZone(memos, "Timer"), hasZone(memos, undefined),
    hasZone(null, "Timer"), hasZone({ access: "read" }, "Timer")], [true, false, true, true, true]);
  const { lines } = told({ state: "needsPerson", waiting: 1, zonesOutOfScope: ["Timer"] });
  assert.ok(lines.some((line) => /not paired to change Timer: .+ pair it again\.$/.test(line)));
  assert.match(errorText({ code: "outOfScope", message: "x", name: "RefusedError" }),
    /Use a device with the whole account/);
});
