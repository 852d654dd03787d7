import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { act } from "../../../Sources/WebClient/apps/edit.js";
import { serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse, parseMessage } from "../../../Sources/WebClient/json/jsonParser.js";
import { uuid } from "../../../Sources/WebClient/model/name.js";
import { run } from "./program.js";
import { RelayProcess } from "./relayProcess.js";

/**
 * An account on a separate relay with two devices: an agent of the real program, and a page, of
 * which only the apps are real. Its requests to the relay are a few calls by hand.
 */
export class Account {
  static async open() {
    const account = new Account();
    await account.#start();
    return account;
  }

  async #start() {
    this.relay = await RelayProcess.start();
    const phone = this.agent("join", "--relay", this.relay.url, "--new", "--plain",
      "--name", "phone");
    this.phone = phone.deviceID;
    const { code } = this.agent("pair");
    const page = await this.#call("POST", "/v1/devices", {
      code, deviceName: "page", platform: "web", appVersion: "1",
    });
    this.page = page.deviceID;
    this.token = page.token;
  }

  close() { return this.relay.remove(); }

  /** Returns the agent's answer to a command. */
  agent(...words) {
    return this.agentReading("", ...words);
  }

  agentReading(input, ...words) {
    const home = ["--home", join(this.relay.folder, "phone"), "--json"];
    return parse(run(["agent", ...words, ...home], input).trim());
  }

  /** Returns all records of the relay, once the agent is in sync. */
  async records() {
    this.agent("sync");
    return (await this.#call("GET", "/v1/changes")).changes;
  }

  /** Returns the page's state. */
  async state() {
    return {
      records: await this.records(), device: this.page,
      deviceNames: { [this.phone]: "phone", [this.page]: "page" },
    };
  }

  async time() { return (await this.#call("GET", "/v1/time")).time; }

  /** Performs a person's action on the page, and syncs the agent. */
  async act(app, action, { now, device = this.page } = {}) {
    const state = { ...(await this.state()), device };
    const instant = now ?? (await this.time());
    const { changes } = act(app, state, action, instant, randomBytes);
    for (const change of changes) await this.write(change);
    return changes;
  }

  /** Saves a record from the page over the present version, and syncs the agent. */
  async write({ zone, name, type, fields, stamp: modifiedAt }) {
    const records = await this.records();
    const baseTag = records.find((it) => it.zone === zone && it.name === name)?.tag ?? 0;
    const record = fields === null
      ? { name, deleted: true, modifiedAt, baseTag } : { name, type, fields, modifiedAt, baseTag };
    const answer = await this.#call("POST", `/v1/zones/${zone}/records`, {
      id: uuid(randomBytes), records: [record],
    });
    if (answer.results[0].tag === undefined) throw new Error(serialize(answer));
    this.agent("sync");
  }

  /** Saves a new record by hand, whatever its fields are. */
  async writeByHand(zone, name, type, fields) {
    const modifiedAt = await this.time();
    await this.#call("POST", `/v1/zones/${zone}/records`, `{"id": "${uuid(randomBytes)}", "records":
      [{"name": "${name}", "type": "${type}", "modifiedAt": ${modifiedAt}, "fields": ${fields}}]}`);
  }

  async #call(method, path, body) {
    const response = await fetch(this.relay.url + path, {
      method, body: typeof body === "object" ? serialize(body) : body,
      headers: {
        "Content-Type": "application/json",
        ...(this.token ? { Authorization: `Bearer ${this.token}` } : {}),
      },
    });
    const text = await response.text();
    if (!response.ok) throw new Error(text);
    return parseMessage(text);
  }
}
