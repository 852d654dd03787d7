import { wellFormed } from "../changes/utf8.js";
import { limits } from "./limits.js";
import { interceptedBy, readProblem } from "./refusal.js";
import { call } from "./uplink/httpCall.js";
import { readObject, WireError } from "./wireError.js";

/** The relay said no. `refusal` has its `code`, and how long to wait where that helps. */
export class RefusedError extends Error {
  constructor(refusal) {
    super(refusal.detail);
    this.name = "RefusedError";
    this.code = refusal.code;
    this.refusal = refusal;
  }
}

/**
 * What is asked of a relay about accounts and devices, beside the sync. Each asks once: a person
 * waits for it, and sees why it did not work.
 */
export class Accounts {
  #environment;
  #relay;

  constructor(environment, relay) {
    this.#environment = environment;
    this.#relay = relay;
  }

  /** A new account, of which this is the first device; only on a relay that is open.
   * @param {{deviceName: string, platform: string, appVersion: string}} device */
  create(device) { return this.#join("/v1/accounts", described(device)); }

  /** Joins the account that issued the code. `accountID`: whose data this browser holds already; a
   * code of another account is refused then, and stays good. null: it holds none. */
  pair(code, device, accountID) {
    return this.#join("/v1/devices",
      { code: wellFormed(code), ...accountID === null ? {} : { accountID }, ...described(device) });
  }

  /** @returns {Promise<{code: string, expiresAt: number}>} */
  issueCode(token) { return this.#ask("/v1/pairings", { method: "POST", token, body: {} }); }

  async devices(token) {
    const { devices } = await this.#ask("/v1/devices", { token });
    if (!Array.isArray(devices)) throw new WireError("what should be a list of devices is none");
    return devices;
  }

  rename(token, deviceID, deviceName) {
    const method = "PATCH";
    return this.#ask(`/v1/devices/${encodeURIComponent(deviceID)}`,
      { method, token, body: described({ deviceName }) });
  }

  /** Its token dies and its connections close. */
  revoke(token, deviceID) {
    return this.#ask(`/v1/devices/${encodeURIComponent(deviceID)}`, { method: "DELETE", token });
  }

  async #join(path, body) {
    const { accountID, deviceID, token } = await this.#ask(path, { method: "POST", body });
    if (![accountID, deviceID, token].every((it) => typeof it === "string" && it !== "")) {
      throw new WireError("what should be a device's credentials are none");
    }
    return { accountID, deviceID, token, deviceName: body.deviceName };
  }

  async #ask(path, request) {
    const answer = await call(this.#environment, {
      ...request, url: this.#relay + path, milliseconds: limits.answerMilliseconds,
    });
    const { status, text } = answer;
    if (status < 200 || status >= 300) {
      throw new RefusedError(readProblem(answer) ?? interceptedBy(answer));
    }
    return text === "" ? null : readObject(text);
  }
}

/** A text field may hold half a character, which no other device could read. */
const described = (device) => ({ ...device, deviceName: wellFormed(device.deviceName) });
