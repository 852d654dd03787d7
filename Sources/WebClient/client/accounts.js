import { wellFormed } from "../json/utf8.js";
import { limits } from "./limits.js";
import { pairingRequest } from "./pairingRequest.js";
import { interceptedBy, readProblem } from "./refusal.js";
import { movedTo } from "./relayAddress.js";
import { readScope } from "./scope.js";
import { call } from "./transport/httpCall.js";
import { readAnswer } from "./transport/messages.js";
import { checkedWakeID } from "./wakeRegistration.js";
import { readObject, WireError } from "./wireError.js";

/** Refusal by the relay. `refusal` has the `code`, and the time to wait before a retry, if one
 * helps. */
export class RefusedError extends Error {
  constructor(refusal) {
    super(refusal.detail);
    this.name = "RefusedError";
    this.code = refusal.code;
    this.refusal = refusal;
  }
}

/**
 * Requests to a relay about accounts and devices, outside the sync. Each request is sent once,
 * without a retry: a person waits for it and sees the reason of a failure.
 */
export class Accounts {
  #environment;
  #relay;
  #place;

  /** `relay`: the address that the page names. `place`: returns that of the relay where the account
   * lives, null if it is the same. */
  constructor(environment, relay, place = () => null) {
    this.#environment = environment;
    this.#relay = relay;
    this.#place = place;
  }

  /**
   * Creates an account with this as its first device; only on a relay with open registration.
   *
   * @param {{deviceName: string, platform: string, appVersion: string}} device
   */
  create(device) { return this.#join("/v1/accounts", described(device)); }

  /** Joins the account that issued the code. `accountID`: account of the data in this browser; the
   * relay then refuses a code of another account, and that code stays valid. null: the browser has
   * no data. */
  pair(code, device, accountID) {
    return this.#join("/v1/devices",
      { code: wellFormed(code), ...accountID === null ? {} : { accountID }, ...described(device) });
  }

  /**
   * @param {Parameters<typeof pairingRequest>[0]} options limits of the new device
   * @param {string} [wrapped] keys for the new device
   * @returns {Promise<{code: string, expiresAt: number, scope?: import("./scope.js").Scope}>}
   */
  async issueCode(token, options, wrapped) {
    const body = { ...pairingRequest(options), ...wrapped !== undefined && { wrapped } };
    const issued = await this.#request("/v1/pairings", { method: "POST", token, body });
    readScope(issued.scope);
    return issued;
  }

  async devices(token) {
    const { devices } = await this.#request("/v1/devices", { token });
    if (!Array.isArray(devices)) throw new WireError("invalid list of devices");
    for (const device of devices) readScope(device?.scope);
    return devices;
  }

  /** True if the relay's owner has made the account, and nobody has used it yet: it has no other
   * device than the one of `token`, and no records. */
  async isUnused(token) {
    if ((await this.devices(token)).length !== 1) return false;
    const { changes, more } = await this.#request("/v1/changes?limit=1", { token });
    if (!Array.isArray(changes)) throw new WireError("invalid page of changes");
    return changes.length === 0 && more === false;
  }

  rename(token, deviceID, deviceName) {
    const method = "PATCH";
    return this.#request(`/v1/devices/${encodeURIComponent(deviceID)}`,
      { method, token, body: described({ deviceName }) });
  }

  /** Revokes the device: the relay invalidates its token and closes its connections. */
  revoke(token, deviceID) {
    const path = `/v1/devices/${encodeURIComponent(deviceID)}`;
    return this.#request(path, { method: "DELETE", token });
  }

  /**
   * Saves all records of a zone, or none.
   *
   * @param {{id: string, zone: string, records: object[]}} batch
   * @returns {Promise<boolean>} false if one of them has another version at the relay
   */
  async saveTogether(token, { id, zone, records }) {
    const answer = await this.#call(`/v1/zones/${encodeURIComponent(zone)}/records`,
      { method: "POST", token, body: { id, atomic: true, records } });
    const refusal = readProblem(answer);
    if (refusal) throw new RefusedError(refusal);
    // A batch that failed is answered with 409, with the results in the body.
    if (![200, 409].includes(answer.status)) throw new RefusedError(interceptedBy(answer));
    const { results } = readAnswer(readObject(answer.text));
    if (results.some(({ conflict }) => conflict)) return false;
    const refused = results.find(({ error }) => error && error.code !== "batchAborted");
    if (refused) throw new RefusedError(refused.error);
    if (answer.status === 200 && results.length === records.length) return true;
    throw new WireError("invalid answer to a batch");
  }

  /** Returns the record as the relay has it; null if there is none. */
  async record(token, { zone, name }) {
    try {
      return await this.#request(
        `/v1/zones/${encodeURIComponent(zone)}/records/${encodeURIComponent(name)}`, { token });
    } catch (error) {
      if (error.code === "notFound") return null;
      throw error;
    }
  }

  /** @returns {Promise<string | null>} the relay's key for push services; null if it wakes no
   * devices */
  async wakeKey() {
    const { wakeKey = null } = await this.#request("/v1/limits", {});
    if (wakeKey !== null && typeof wakeKey !== "string") throw new WireError("invalid wake key");
    return wakeKey;
  }

  /** @returns {Promise<boolean>} false if the relay lets no one create an account; true if it does,
   * or is of a version that does not say */
  async acceptsAccounts() {
    const { isOpen = true } = await this.#request("/v1/limits", {});
    if (typeof isOpen !== "boolean") throw new WireError("invalid limits");
    return isOpen;
  }

  /** @param {ReturnType<import("./wakeRegistration.js").wakeRegistration>} registration */
  registerWake(token, id, registration) {
    return this.#request(wakePath(id), { method: "PUT", token, body: registration });
  }

  /** Sends back the code of the first push. */
  verifyWake(token, id, code) {
    const body = { code: wellFormed(code) };
    return this.#request(`${wakePath(id)}/verification`, { method: "POST", token, body });
  }

  /** Removes a registration, also if there is none. */
  async removeWake(token, id) {
    try {
      await this.#request(wakePath(id), { method: "DELETE", token });
    } catch (error) {
      if (error.code !== "notFound") throw error;
    }
  }

  async wakes(token) {
    const { wakes } = await this.#request("/v1/wakes", { token });
    if (!Array.isArray(wakes)) throw new WireError("invalid list of registrations for wakes");
    return wakes;
  }

  /** `wrapped`: keys that the code has brought, if any. */
  async #join(path, body) {
    const { value: answer, relay } = await this.#requestAt(path, { method: "POST", body });
    const { accountID, deviceID, token, wrapped } = answer;
    if (![accountID, deviceID, token].every((it) => typeof it === "string" && it !== "")) {
      throw new WireError("invalid device credentials");
    }
    if (wrapped !== undefined && typeof wrapped !== "string") {
      throw new WireError("invalid wrapped keys");
    }
    const scope = readScope(answer.scope);
    const { deviceName } = body;
    const identity = { accountID, deviceID, token, deviceName, ...scope && { scope },
      ...relay !== this.#relay && { relay } };
    return { identity, wrapped };
  }

  /** Returns the answer of the relay where the account lives, and its address. */
  async #call(path, request) {
    let relay = this.#place() ?? this.#relay;
    for (let follows = 0; ; follows += 1) {
      const answer = await call(this.#environment, {
        ...request, url: relay + path, milliseconds: limits.answerMilliseconds,
      });
      const refusal = answer.status === 421 ? readProblem(answer) : null;
      const next = refusal?.code === "accountMoved" ? movedTo(relay, refusal) : null;
      if (next === null || follows === limits.relayFollows) return { ...answer, relay };
      relay = next;
    }
  }

  async #request(path, request) { return (await this.#requestAt(path, request)).value; }

  async #requestAt(path, request) {
    const answer = await this.#call(path, request);
    const { status, text, relay } = answer;
    if (status < 200 || status >= 300) {
      throw new RefusedError(readProblem(answer) ?? interceptedBy(answer));
    }
    return { value: text === "" ? null : readObject(text), relay };
  }
}

const wakePath = (id) => `/v1/wakes/${encodeURIComponent(checkedWakeID(id))}`;

/** A text field may hold half a surrogate pair, which no other device could read. */
const described = (device) => ({ ...device, deviceName: wellFormed(device.deviceName) });
