import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { numberOf } from "../../../Sources/WebClient/json/jsonValue.js";
import { uuid } from "../../../Sources/WebClient/model/name.js";
import { needsProgram } from "../support/program.js";
import { RelayProcess } from "../support/relayProcess.js";
import { world } from "./support/device.js";
import { settled } from "./support/fakeEnvironment.js";
import { fieldsOf } from "./support/modelApp.js";
import { Browser, inState, until } from "./support/page.js";
import { TestDevice } from "./support/testDevice.js";

// Numbers of other programs keep every digit, although JavaScript's own numbers would lose some.

const device = { deviceName: "page" };
const digits = '"big":9007199254740993,"list":[-1e400],"long":0.1234567890123456789';
const within = { ...needsProgram, timeout: 60_000 };

/** Returns a change of the text next to the numbers. */
const writes = (text) => ({ record }) =>
  [fieldsOf("n", { ...record("Model", "n").fields, text })];

const saying = (text) => (page) => page.record("Model", "n")?.fields.text === text;

/** A device of a person who reads and writes JSON by hand. */
class Hand {
  static async pair(relay, code) {
    const hand = new Hand();
    hand.relay = relay;
    const { token } = JSON.parse(await hand.#ask("POST", "/v1/devices",
      JSON.stringify({ code, deviceName: "hand", platform: "shell", appVersion: "1" })));
    hand.token = token;
    return hand;
  }

  save(fields, modifiedAt) {
    return this.#ask("POST", "/v1/zones/Model/records", `{"id": "${uuid(randomBytes)}", "records":
      [{"name": "n", "type": "Fields", "modifiedAt": ${modifiedAt}, "fields": ${fields}}]}`);
  }

  read() { return this.#ask("GET", "/v1/zones/Model/records/n"); }

  async #ask(method, path, body) {
    const headers = { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    const response = await fetch(this.relay.url + path, { method, headers, body });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return text;
  }
}

test("through a reload, through another tab, and back from a restored relay", within,
  async (context) => {
    const relay = await RelayProcess.start();
    context.after(() => relay.remove());
    const browser = new Browser();
    const open = async () => {
      const tab = await browser.open(relay);
      context.after(() => tab.close());
      return tab;
    };
    const first = await open();
    await first.createAccount(device);
    const hand = await Hand.pair(relay, (await first.issueCode()).code);
    await hand.save(`{${digits},"text":"by hand"}`, 1);
    await until(first, saying("by hand"));
    relay.backUp();

    const second = await open();
    await until(second, saying("by hand"));
    await second.change(writes("another tab"));
    await until(first, saying("another tab"));
    await first.syncNow();
    assert.ok((await hand.read()).includes(`{${digits},"text":"another tab"}`));
    second.close();
    first.close();

    browser.goOffline();
    const reloaded = await open();
    await reloaded.change(writes("reloaded"));
    browser.goOnline();
    await reloaded.syncNow();
    assert.ok((await hand.read()).includes(`{${digits},"text":"reloaded"}`));

    await relay.putBack();
    assert.ok((await hand.read()).includes("by hand"));
    await reloaded.syncNow();
    await until(reloaded, ({ status }) => status.state === "inSync" && status.waiting === 0);
    assert.ok((await hand.read()).includes(`{${digits},"text":"reloaded"}`));
  });

for (const transports of [["events"], ["long-poll"], ["poll"]]) {
  test(`by ${transports[0]}: what is read and written back is the same`, within,
    async (context) => {
      const relay = await RelayProcess.start();
      context.after(() => relay.remove());
      const page = await new Browser().open(relay, { transports });
      context.after(() => page.close());
      await page.createAccount(device);
      await until(page, inState("inSync"));
      const hand = await Hand.pair(relay, (await page.issueCode()).code);
      await hand.save(`{${digits},"text":"by hand"}`, 1);
      if (transports[0] === "poll") await page.syncNow();
      await until(page, saying("by hand"));
      await page.change(writes("by the page"));
      await page.syncNow();
      assert.ok((await hand.read()).includes(`{${digits},"text":"by the page"}`));
    });
}

test("in what meets another's change, and in what a person is asked about", async () => {
  const device = await TestDevice.start();
  await device.welcome();
  const record = (name, type, tag, text) => `{"zone":"Model","name":"${name}","type":"${type}",
    "modifiedAt":${tag},"device":"other","tag":${tag},"deleted":false,
    "fields":{${digits},"text":"${text}"}}`;
  device.socket.receiveText(`{"op":"changes","since":"a1.0","token":"a1.2","more":false,
    "changes":[${record("n", "Fields", 1, "old")},${record("c", "Choice", 2, "old")}]}`);
  await settled();
  const change = (name, type) => device.agent.change(({ record: held }) =>
    [{ zone: "Model", name, type, fields: { ...held("Model", name).fields, mine: true } }]);
  await change("n", "Fields");
  await settled();
  const meet = async (name, type, tag) => {
    const { id } = device.socket.last("save");
    device.socket.receiveText(`{"op":"saved","id":"${id}",
      "since":"a1.${tag - 1}","token":"a1.${tag}",
      "results":[{"name":"${name}","conflict":${record(name, type, tag, "new")}}]}`);
    await settled();
  };
  await meet("n", "Fields", 3);
  assert.ok(device.socket.texts.at(-1).includes(`{${digits},`));
  assert.ok(device.socket.texts.at(-1).includes('"mine":true,"text":"new"}'));
  await device.save(4);
  await change("c", "Choice");
  await settled();
  await meet("c", "Choice", 5);
  const [{ local, server }] = device.status.asking;
  for (const { fields } of [local, server]) {
    assert.equal(fields.big.text, "9007199254740993");
    assert.equal(fields.long.text, "0.1234567890123456789");
  }
});

test("a page may make such a number, in its one form", () => {
  const [relay, phone, laptop] = world("phone", "laptop");
  const big = numberOf("9007199254740993");
  phone.change(fieldsOf("n", { big }));
  phone.sync(relay);
  laptop.sync(relay);
  assert.deepEqual(laptop.fields("n"), { big });
  for (const text of ["9007199254740993.0", "1e3", "many", undefined, 5]) {
    assert.throws(() => phone.change(fieldsOf("n", { big: { text, exact: 1n } })),
      { code: "badEdit" });
  }
  assert.throws(() => phone.change(fieldsOf("n", { big: 5n })), { code: "badEdit" });
});
