import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "node:test";
import { systemEnvironment } from "../../../Sources/WebClient/client/transport/environment.js";
import {
  typedCode, typedSecret, wholeCode,
} from "../../../Sources/WebClient/client/pairingCode.js";
import { Lockstep } from "../../../Sources/WebClient/lockstep.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import {
  AccountKeys, KeyGeneration,
} from "../../../Sources/WebClient/sealing/accountKeys.js";
import { ringFields } from "../../../Sources/WebClient/sealing/keyRing.js";
import { scrypt } from "../../../Sources/WebClient/sealing/scrypt.js";
import { SealingKeys } from "../../../Sources/WebClient/sealing/sealingKeys.js";
import { hkdf } from "../../../Sources/WebClient/sealing/sha256.js";
import { SIV } from "../../../Sources/WebClient/sealing/siv.js";
import {
  unwrap, wrap, wrapSaltOf, wrapStretching,
} from "../../../Sources/WebClient/sealing/wrappedKeys.js";
import {
  holdsVaultKey, vaultCodeRecord, vaultStretching,
} from "../../../Sources/WebClient/sealing/wrappedVaultKey.js";
import { ZoneSet } from "../../../Sources/WebClient/sealing/zoneSet.js";
import { MemoryStore } from "../../../Sources/WebClient/client/store/memoryStore.js";
import { needsProgram } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";
import { add, Browser, inState, shows, until } from "./support/page.js";

// Keys that pairing codes carry.

const device = { deviceName: "page" };
const [first, second] = ["7Q2M-0XKD-9RTA", "C4VH-1EZB-83NW"];
const letters = "C4VH1EZB83NW";
const account = "account";
const keys = SealingKeys.ofAccount(AccountKeys.make(randomBytes),
  ZoneSet.allBut(["Keys", "Vault"]));

/** A fast function in the place of scrypt. */
const hurried = async (password, { salt, count }) => hkdf(password, { salt, info: salt, count });

/** Returns wrapped keys, by the fast function. */
async function wrapped({ of = keys, secret = letters, owner = account } = {}) {
  const salt = randomBytes(16);
  const { password, parameters } = wrapStretching(secret, salt);
  return wrap(of, { account: owner, salt, key: await hurried(password, parameters) });
}

/** A page, and a relay that answers joins and requests for codes alone. */
class Stage {
  requests = [];
  /** Records of the account that the page may read. */
  records = [];
  store = new MemoryStore();
  issued = { code: first, expiresAt: 1 };
  devices = [{ deviceID: "d" }];
  /** Changes of the account, for a page that asks whether there are any. */
  changes = null;

  constructor(context, answer = {}) {
    this.context = context;
    this.answer = { accountID: account, deviceID: "d", token: "t", ...answer };
  }

  async open() {
    const environment = { ...systemEnvironment(), WebSocket: undefined,
      fetch: async (url, { method, body }) => this.#answer(new URL(url).pathname, method, body) };
    this.page = await Lockstep.open({ relay: "http://relay.example", scrypt: hurried,
      store: { open: async () => this.store }, browser: { environment } });
    this.context.after(() => this.page.close());
    return this;
  }

  #answer(path, method, body) {
    if (path === "/v1/devices" && method !== "POST") {
      return Response.json({ devices: this.devices });
    }
    if (path === "/v1/changes" && this.changes) {
      return Response.json({ since: null, token: "1", more: false, changes: this.changes });
    }
    if (path === "/v1/devices" || method === "DELETE" || path === "/v1/pairings") {
      this.requests.push({ path, method, body: body && parse(body) });
    }
    if (path === "/v1/devices") return Response.json(this.answer, { status: 201 });
    if (method === "DELETE") return new Response(null, { status: 204 });
    if (path === "/v1/pairings") return Response.json(this.issued, { status: 201 });
    if (/^\/v1\/zones\/[^/]*\/records\/[^/]*$/u.test(path)) return this.#record(path);
    throw new TypeError("the relay answers nothing else");
  }

  #record(path) {
    const [zone, name] = [3, 5].map((index) => decodeURIComponent(path.split("/")[index]));
    const record = this.records.find((it) => it.zone === zone && it.name === name);
    return record ? Response.json(record)
      : Response.json({ code: "notFound", status: 404, detail: "no record" },
        { status: 404, headers: { "Content-Type": "application/problem+json" } });
  }

  /** Joins, and collects the questions. `answers`: the typed second halves. */
  async join(code, ...answers) {
    this.questions = [];
    await this.page.join(code, device, { askSecondHalf: async (question) => {
      this.questions.push(question);
      return answers.shift() ?? null;
    } });
  }

  /** Asserts that a join has failed, that the new device was removed, and that nothing is here. */
  async assertRefused(joining, code) {
    await assert.rejects(joining, { name: "EditError", code });
    assert.deepEqual(this.requests.map(({ method, path }) => `${method} ${path}`),
      ["POST /v1/devices", "DELETE /v1/devices/d"]);
    assert.deepEqual((await this.store.load()).values.map(([name]) => name)
      .filter((name) => name === "identity" || name === "seal.keys"), []);
  }
}

test("the second half is never sent, and account and keys are stored", async (context) => {
  const stage = await new Stage(context, { wrapped: await wrapped() }).open();
  await stage.join(` ${first.toLowerCase()}${second.replace("0", "o")} `);
  assert.deepEqual(stage.requests.map(({ body }) => body.code), [first]);
  assert.ok(!JSON.stringify(stage.requests).includes("C4VH"));
  assert.deepEqual(await stage.store.value("seal.keys"), keys.storedValue);
  assert.deepEqual(stage.questions, []);
  const { wrapped: text, ...identity } = stage.answer;
  assert.deepEqual(await stage.store.value("identity"), { ...identity, deviceName: "page" });
  assert.equal(await stage.page.checkWords(), keys.account.current.checkWords());
});

test("a wrong second half may be typed again, also as the whole code", async (context) => {
  const stage = await new Stage(context, { wrapped: await wrapped() }).open();
  await stage.join(`${first}-C4VH-1EZB-83NX`, "C4VH 1EZB 83NZ", "nonsense", `${first}-${second}`);
  assert.deepEqual(stage.questions, [4, 3, 2].map((triesLeft) => ({ isWrong: true, triesLeft })));
  assert.deepEqual(await stage.store.value("seal.keys"), keys.storedValue);
});

test("five wrong second halves remove the new device", async (context) => {
  const stage = await new Stage(context, { wrapped: await wrapped() }).open();
  const wrong = Array.from({ length: 9 }, () => "0000-0000-0000");
  await stage.assertRefused(stage.join(first, ...wrong), "wrongSecondHalf");
  assert.deepEqual(stage.questions.map(({ isWrong, triesLeft }) => [isWrong, triesLeft]),
    [[false, 5], [true, 4], [true, 3], [true, 2], [true, 1]]);
});

test("without the second half nothing is stored, and it is asked for", async (context) => {
  const answer = { wrapped: await wrapped() };
  const refused = await new Stage(context, answer).open();
  await refused.assertRefused(refused.page.join(first, device), "secondHalf");
  const cancelled = await new Stage(context, answer).open();
  await cancelled.assertRefused(cancelled.join(first), "secondHalf");
  const stage = await new Stage(context, answer).open();
  await stage.join(first, second);
  assert.deepEqual(stage.questions, [{ isWrong: false, triesLeft: 5 }]);
  assert.deepEqual(await stage.store.value("seal.keys"), keys.storedValue);
});

test("keys of another account, or in another form, are not taken", async (context) => {
  for (const text of [await wrapped({ owner: "another" }), "", "AAAA", "not Base64"]) {
    const stage = await new Stage(context, { wrapped: text }).open();
    await stage.assertRefused(stage.join(`${first}-${second}`), "badKeys");
    assert.deepEqual(stage.questions, []);
  }
  const stage = await new Stage(context, { wrapped: 7 }).open();
  await assert.rejects(stage.join(first), { name: "WireError" });
});

const vaultKey = Uint8Array.from({ length: 16 }, (_, index) => index);

/** Returns the record of the vault's key under the code, by the fast function. */
async function vaultRecord() {
  const name = vaultCodeRecord(first.replaceAll("-", ""));
  const salt = Uint8Array.from({ length: 16 }, (_, index) => index);
  const key = await hurried(new TextEncoder().encode(letters), { salt, count: SIV.keyBytes });
  const wrapped = new SIV(key).seal(vaultKey, new TextEncoder().encode(`vault key ${name}`));
  return { zone: "Vault", name, fields: { key: "b5042643d3ecb49c",
    salt: "AAECAwQFBgcICQoLDA0ODw==", n: 65_536, r: 8, p: 1,
    wrapped: Buffer.from(wrapped).toString("base64"), expiresAt: 5 } };
}

test("an account that is not sealed is joined with the relay's part of a code", async (context) => {
  const stage = await new Stage(context).open();
  await stage.join(first);
  assert.equal((await stage.store.value("identity")).accountID, account);
  assert.equal(await stage.store.value("seal.keys"), undefined);
  assert.equal(await stage.page.checkWords(), null);
});

test("its whole code is taken if the second half opens the vault's key", async (context) => {
  for (const typed of [[`${first}-${second}`], [`${first}-C4VH-1EZB-83NX`, second]]) {
    const stage = await new Stage(context).open();
    stage.records.push(await vaultRecord());
    await stage.join(...typed);
    assert.equal((await stage.store.value("identity")).accountID, account);
    assert.equal(await stage.store.value("seal.keys"), undefined);
    assert.equal(stage.questions.length, typed.length - 1);
  }
});

test("a relay that leaves the keys out gets no device that sends plain records",
  async (context) => {
    const { fields, ...place } = await vaultRecord();
    for (const invented of [null, { ...fields, n: 2 ** 20 }, { ...fields, n: 65_535 },
      { ...fields, salt: "AA==" }, { ...fields, wrapped: 1 }, { key: "b5042643d3ecb49c" }, "x"]) {
      const stage = await new Stage(context).open();
      if (invented) stage.records.push({ ...place, fields: invented });
      const code = invented?.wrapped === 1 ? "secondHalf" : "noKeys";
      await stage.assertRefused(stage.join(`${first}-${second}`), code);
      const linked = await new Stage(context).open();
      if (invented) linked.records.push({ ...place, fields: invented });
      await linked.assertRefused(linked.join(`${first}&keys`), code);
    }
    const limited = await new Stage(context, { scope: { zones: ["Memos"], access: "write" } })
      .open();
    limited.records.push(await vaultRecord());
    await limited.assertRefused(limited.join(`${first}-${second}`), "noKeys");
    const wrong = await new Stage(context).open();
    wrong.records.push({ ...place, fields: { ...fields, key: "0000000000000000" } });
    await wrong.assertRefused(wrong.page.join(`${first}-${second}`, device), "secondHalf");
  });

test("the first device of an account that the relay's owner has made seals it", async (context) => {
  const join = async (stage, options = { isSealed: true }) => {
    await stage.page.join(first, device, options);
    return stage.page.checkWords();
  };
  const fresh = Object.assign(await new Stage(context).open(), { changes: [] });
  assert.match(await join(fresh), /^[a-z]{5}( [a-z]{5}){5}$/u);
  assert.equal((await fresh.page.recoveryPhrase()).split(" ").length, 17);
  const record = { zone: "Memos", name: "a", type: "Memo", fields: {}, modifiedAt: 1, device: "d",
    tag: 1, deleted: false };
  for (const used of [{ changes: [record] }, { changes: [], devices: [{}, {}] }]) {
    assert.equal(await join(Object.assign(await new Stage(context).open(), used)), null);
  }
  const limited = await new Stage(context, { scope: { zones: ["Memos"], access: "write" } }).open();
  assert.equal(await join(limited), null);
  const plain = Object.assign(await new Stage(context).open(), { changes: [] });
  assert.equal(await join(plain, {}), null);
});

test("the phrase gets the keys after a loss of all devices, and no other does", async (context) => {
  const stage = await new Stage(context).open();
  await stage.page.join(first, device);
  const restore = (phrase) => stage.page.restoreKeys(phrase);
  const phrase = keys.account.current.phrase();
  await assert.rejects(restore(phrase), { code: "badPhrase", message: /has no keys/u });
  stage.records.push({ zone: "Keys", name: "ring", type: "keyRing", fields: ringFields(keys) });
  const words = phrase.split(" ");
  for (const wrong of [words.slice(1), [...words.slice(0, 16), "babab"], ["x", ...words.slice(1)],
    KeyGeneration.make(randomBytes).phrase().split(" ")]) {
    await assert.rejects(restore(wrong.join(" ")), { code: "badPhrase" });
  }
  assert.equal(await stage.page.checkWords(), null);
  await restore(` ${phrase.toUpperCase().replaceAll(" ", "-")}\n`);
  assert.equal(await stage.page.checkWords(), keys.account.current.checkWords());
  const limited = await new Stage(context, { scope: { zones: ["Memos"], access: "write" } }).open();
  await limited.page.join(first, device);
  await assert.rejects(limited.page.restoreKeys(phrase), { code: "refused" });
});

test("the vault's key opens as other programs have wrapped it", () => {
  // By Python's `hashlib.scrypt` and `cryptography`.
  const fields = { key: "b5042643d3ecb49c", salt: "AAECAwQFBgcICQoLDA0ODw==",
    n: 65_536, r: 8, p: 1, wrapped: "wuONSFlvhJPHh7spDZnqyZdvaIGAZr/vKaR6u29Uk7k=" };
  const key = scrypt(new TextEncoder().encode("0123456789AB"), vaultStretching(fields));
  assert.ok(holdsVaultKey(fields, { name: "code/abc", key }));
  assert.equal(holdsVaultKey(fields, { name: "code/abd", key }), false);
});

test("of a text that is neither length nothing is sent", async (context) => {
  const stage = await new Stage(context).open();
  for (const code of [`${first}-C4VH`, `${first}-C4VH-1EZB-83N!`, `${first}-${second}0`]) {
    await assert.rejects(stage.join(code), { code: "badCode" });
  }
  assert.deepEqual(stage.requests, []);
});

test("codes are read however they are typed", () => {
  assert.deepEqual(typedCode("7q2m oxkd-9rtac4vhiezb83nw"),
    { code: first, secret: letters, carriesKeys: true });
  assert.deepEqual(typedCode(" 7q2m-oxkd-9rta"),
    { code: " 7q2m-oxkd-9rta", secret: null, carriesKeys: false });
  assert.deepEqual(typedCode(`${first}&keys`), { code: first, secret: null, carriesKeys: true });
  assert.equal(typedSecret("c4vh-lezb-83nw", first), letters);
  assert.equal(typedSecret(`7Q2MOXKD9RTA${second}`, first), letters);
  for (const typed of ["", "C4VH", `${second}-${first}`, "C4VH-1EZB-83NU"]) {
    assert.equal(typedSecret(typed, first), null);
  }
  assert.equal(wholeCode(first, letters), `${first}-${second}`);
  for (const code of ["", "7Q2M", `${first}-${first}`, undefined]) {
    assert.equal(wholeCode(code, letters), null);
  }
});

/** Opens the keys that the page has left with the relay under its code. */
async function given(stage, code) {
  const text = stage.requests.at(-1).body.wrapped;
  const { password, parameters } = wrapStretching(typedCode(code).secret, wrapSaltOf(text));
  return unwrap(text, { account, key: await hurried(password, parameters) }).keys;
}

test("a code carries the account's keys, or those of its zones alone", async (context) => {
  const stage = await new Stage(context, { wrapped: await wrapped() }).open();
  await stage.join(`${first}-${second}`);
  const { code, linkCode } = await stage.page.issueCode();
  assert.equal(linkCode, `${first}&keys`);
  assert.equal(code.slice(0, first.length), first);
  assert.match(code, /^(?:[0-9A-HJKMNP-TV-Z]{4}-){5}[0-9A-HJKMNP-TV-Z]{4}$/u);
  assert.ok((await given(stage, code)).isSame(keys));
  assert.ok(!JSON.stringify(stage.requests).includes(code.slice(-4)));
  const limited = await stage.page.issueCode({ zones: ["Memos", "Vault"], access: "read" });
  assert.notEqual(limited.code, code);
  assert.ok((await given(stage, limited.code)).isSame(keys.limitedTo(["Memos"])));
  assert.deepEqual(Object.keys(stage.requests.at(-1).body).sort(), ["access", "wrapped", "zones"]);
  const open = await stage.page.issueCode({ zones: ["Vault"] });
  assert.deepEqual([open.code, open.linkCode, stage.requests.at(-1).body],
    [first, first, { zones: ["Vault"] }]);
});

test("a device with the keys of some zones gives on no others", async (context) => {
  const stage = await new Stage(context, { scope: { zones: ["Memos", "Vault"], access: "write" },
    wrapped: await wrapped({ of: keys.limitedTo(["Memos"]) }) }).open();
  await stage.join(`${first}-${second}`);
  assert.equal(await stage.page.checkWords(), null);
  assert.ok((await given(stage, (await stage.page.issueCode()).code))
    .isSame(keys.limitedTo(["Memos"])));
  assert.equal((await stage.page.issueCode({ zones: ["Vault"] })).code, first);
});

test("a relay's code of another length is not shown with the secret", async (context) => {
  const stage = await new Stage(context, { wrapped: await wrapped() }).open();
  await stage.join(`${first}-${second}`);
  for (const code of ["", "7Q2M", `${first}-${first}`, 7, undefined]) {
    stage.issued = { code, expiresAt: 1 };
    await assert.rejects(stage.page.issueCode(), { name: "WireError" });
  }
});

/** An account by hand, whose code carries keys. */
class Hand {
  static async open(relay) {
    const hand = new Hand();
    hand.relay = relay;
    const { accountID, token } = await hand.call("POST", "/v1/accounts",
      { deviceName: "hand", platform: "shell", appVersion: "1" });
    Object.assign(hand, { accountID, token });
    return hand;
  }

  async call(method, path, body) {
    const response = await fetch(this.relay.url + path, { method, body: JSON.stringify(body),
      headers: { "Content-Type": "application/json",
        ...this.token && { Authorization: `Bearer ${this.token}` } } });
    const text = await response.text();
    assert.ok(response.ok, text);
    return parse(text);
  }

  async code(of = keys) {
    const salt = randomBytes(16);
    const { password, parameters } = wrapStretching(letters, salt);
    const text = wrap(of,
      { account: this.accountID, salt, key: scrypt(password, parameters) });
    return (await this.call("POST", "/v1/pairings", { wrapped: text })).code;
  }
}

test("two pages of a sealed account sync, and the relay has nothing that it can read",
  { ...needsProgram, timeout: 60_000 }, async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const hand = await Hand.open(relay);
    const pages = [];
    for (let number = 0; number < 3; number += 1) {
      const browser = new Browser();
      // Of one browser, a tab joins that does not lead.
      const tabs = number === 1 ? [await browser.open(relay)] : [];
      const page = await browser.open(relay);
      context.after(() => [page, ...tabs].forEach((tab) => tab.close()));
      await add(page, `before ${number}`, `secret ${number}`);
      const code = number === 0 ? `${await hand.code()}-${second}`
        : (await pages[number - 1].issueCode()).code;
      await page.join(code, device);
      pages.push(page);
    }
    for (const page of pages) {
      for (const number of [0, 1, 2]) {
        await until(page, shows(`before ${number}`, `secret ${number}`));
      }
      await until(page, inState("inSync"));
      assert.equal(await page.checkWords(), keys.account.current.checkWords());
    }
    const { changes } = await hand.call("GET", "/v1/changes");
    const records = changes.filter(({ zone }) => zone !== "Keys");
    assert.equal(records.length, 3);
    for (const { type, fields, name } of records) {
      assert.equal(type, "Sealed");
      assert.deepEqual(Object.keys(fields).sort(), ["key", "sealed"]);
      assert.match(name, /^[0-9a-f]{64}$/u);
    }

    const [one, two, lost] = pages;
    const { pairAgain } = await one.revoke(lost.status.deviceID);
    assert.deepEqual(pairAgain.map(({ deviceName }) => deviceName), ["hand"]);
    await until(lost, inState("needsPairing"));
    const words = await one.checkWords();
    assert.notEqual(words, keys.account.current.checkWords());
    await add(one, "after", "secret");
    await until(two, shows("after", "secret"));
    assert.equal(await two.checkWords(), words);
    await add(two, "later", "secret");
    await until(one, shows("later", "secret"));
    await until(two, inState("inSync"));
    assert.equal((await one.devices()).length, 3);
    const later = (await hand.call("GET", "/v1/changes")).changes.slice(-1)[0];
    assert.equal(typeof later.fields.key, "string");
    assert.notEqual(later.fields.key, keys.account.current.id);
    assert.deepEqual(await two.revoke(two.status.deviceID), { pairAgain: [] });
  });

test("a device that has left the account gets no new keys, and its records are deleted",
  { ...needsProgram, timeout: 60_000 }, async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const hand = await Hand.open(relay);
    const pages = [];
    for (let number = 0; number < 4; number += 1) {
      const page = await new Browser().open(relay);
      context.after(() => page.close());
      const code = number === 0 ? `${await hand.code()}-${second}`
        : (await pages[number - 1].issueCode()).code;
      await page.join(code, device);
      await page.syncNow();
      pages.push(page);
    }
    const [one, two, left, lost] = pages;
    const ids = pages.map((page) => page.status.deviceID);
    await one.syncNow();
    await left.signOut();
    await one.revoke(lost.status.deviceID);
    const { changes } = await hand.call("GET", "/v1/changes");
    const names = changes.filter(({ zone, deleted }) => zone === "Keys" && !deleted)
      .map(({ name }) => name);
    assert.deepEqual(names.sort(), ["ring", ...ids.slice(0, 2).flatMap((id) =>
      [`device/${id}`, `next/${id}`])].sort());
    await two.syncNow();
    assert.equal(await two.checkWords(), await one.checkWords());
  });

test("a device without the keys of its account joins again for them, and keeps what it has",
  { ...needsProgram, timeout: 60_000 }, async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const hand = await Hand.open(relay);
    const some = SealingKeys.ofAccount(keys.account, ZoneSet.only(["Model"]));
    const page = await new Browser().open(relay);
    context.after(() => page.close());
    await page.join((await hand.call("POST", "/v1/pairings", {})).code, device);
    await add(page, "before", "plain");
    await until(page, inState("inSync"));
    await assert.rejects(page.join(`${await hand.code(some)}-${second}`, device),
      { code: "alreadyPaired" });
    await hand.call("POST", "/v1/zones/Keys/records", { id: randomUUID(), records: [{
      name: "ring", type: "keyRing", fields: ringFields(some), modifiedAt: 1, baseTag: 0 }] });
    await until(page, inState("needsPerson"));
    const { deviceID, lockedZones } = page.status;
    assert.deepEqual(lockedZones, ["Model"]);
    await assert.rejects(add(page, "later", "refused"), { code: "refused" });

    await page.join(`${await hand.code(some)}-${second}`, device);
    await until(page, inState("inSync"));
    assert.deepEqual([page.status.lockedZones, await page.checkWords()],
      [[], keys.account.current.checkWords()]);
    assert.notEqual(page.status.deviceID, deviceID);
    const devices = (await page.devices()).map((it) => it.deviceID);
    assert.equal(devices.length, 2);
    assert.ok(!devices.includes(deviceID));
    await add(page, "later", "sealed");
    await until(page, inState("inSync"));
    assert.ok(shows("before", "plain")(page));
    const { changes } = await hand.call("GET", "/v1/changes");
    assert.equal(changes.filter(({ type }) => type === "Sealed").length, 2);
  });

test("an account that a page makes is sealed from the beginning, if the page says so",
  { ...needsProgram, timeout: 60_000 }, async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const open = async () => {
      const page = await new Browser().open(relay);
      context.after(() => page.close());
      return page;
    };
    const [page, other, plain] = await Promise.all([open(), open(), open()]);
    await add(page, "before", "the account");
    await page.createAccount(device, { isSealed: true });
    await until(page, inState("inSync"));
    const phrase = await page.recoveryPhrase();
    const { generation } = KeyGeneration.ofPhrase(phrase);
    assert.equal(generation.checkWords(), await page.checkWords());
    await other.join((await page.issueCode()).code, device);
    await until(other, shows("before", "the account"));
    await plain.createAccount(device);
    assert.equal(await plain.recoveryPhrase(), null);
  });
