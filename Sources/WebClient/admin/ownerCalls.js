import { serialize, member } from "../json/jsonValue.js";
import { faultOf, objectIn, OwnerFault } from "./ownerFault.js";
import { limits } from "./limits.js";

const root = "/v1/admin";
/** Difference of clocks in milliseconds that is no difference. */
const sameClock = 5_000;
const accountPath = (id, ...names) => ["/accounts", checked(id), ...names].join("/");

/** Returns an id or a hash; it is part of a path, where `..` would name another call. */
function checked(id) {
  if (/^[0-9a-f]{1,64}$/.test(id)) return id;
  throw new OwnerFault({ code: "notFound", detail: "there is no such account or device" });
}

/** Calls of a relay's owner. Each is sent once: a person waits for it, and sees why it failed. */
export class OwnerCalls {
  #browser;
  #token;
  /** Milliseconds by which the relay's clock is ahead of this machine's. */
  clockAhead = 0;
  /** Called when the relay no longer knows the session. */
  onEnd = () => {};

  constructor(browser) {
    this.#browser = browser;
    this.#token = browser.keeper.read();
  }

  get isSignedIn() { return this.#token !== null; }

  /** Begins a session with a one-time code. A former session of this tab ends. */
  async signIn(code) {
    const answer = await this.#send("/sessions", { method: "POST", body: { code }, token: null });
    const object = this.#object(await this.#checked(answer));
    const token = member(object, "token");
    if (typeof token !== "string" || token === "") throw notOurs();
    const former = this.#token;
    this.#keep(token);
    if (former !== null) await this.#forget(former);
  }

  /** Ends a former session. If the call does not reach the relay, the session ends by its age. */
  async #forget(token) {
    try {
      await this.#send("/sessions", { method: "DELETE", token });
    } catch (error) {
      if (!(error instanceof OwnerFault)) throw error;
    }
  }

  /** Ends the session, here also if the relay does not answer. */
  async signOut() {
    const token = this.#token;
    this.#keep(null);
    if (token === null) return;
    const answer = await this.#send("/sessions", { method: "DELETE", token });
    // A session that has ended is signed out, too.
    if (answer.status !== 401) await this.#checked(answer);
  }

  /**
   * Returns all accounts. `isComplete` is false if there are more than the page shows.
   *
   * @returns {Promise<{accounts: object[], isComplete: boolean}>}
   */
  async accounts() {
    const accounts = [];
    for (;;) {
      const query = new URLSearchParams({ limit: limits.accountsPerCall });
      if (accounts.length > 0) query.set("after", accounts.at(-1).accountID);
      const page = this.#object(await this.#call(`/accounts?${query}`));
      if (!Array.isArray(page.accounts)) throw notOurs();
      accounts.push(...page.accounts);
      if (page.more !== true || page.accounts.length === 0) return { accounts, isComplete: true };
      if (accounts.length >= limits.accountsMax) return { accounts, isComplete: false };
    }
  }

  async account(id) { return this.#object(await this.#call(accountPath(id))); }

  /** Returns the answer's text, of which an export keeps each digit, and the devices in it. */
  async devices(id) {
    const body = await this.#call(accountPath(id, "devices"));
    const { devices } = this.#object(body);
    if (!Array.isArray(devices)) throw notOurs();
    return { body, devices };
  }

  async createAccount(label, seconds) {
    return this.#object(await this.#call("/accounts",
      { method: "POST", body: { label, expiresIn: seconds } }));
  }

  async issueCode(id, seconds) {
    return this.#object(await this.#call(accountPath(id, "pairings"),
      { method: "POST", body: { expiresIn: seconds } }));
  }

  setPlan(id, plan) {
    return this.#call(accountPath(id, "plan"), { method: "PUT", body: plan });
  }

  revoke(id, device) {
    return this.#call(accountPath(id, "devices", checked(device)), { method: "DELETE" });
  }

  remove(id) {
    return this.#call(accountPath(id),
      { method: "DELETE", milliseconds: limits.removalMilliseconds });
  }

  /** Returns the text of a page of changes. @param {string | null} since */
  changes(id, since) {
    const query = since === null ? "" : `?${new URLSearchParams({ since })}`;
    return this.#call(accountPath(id, "changes") + query,
      { milliseconds: limits.transferMilliseconds });
  }

  /** Returns the bytes of a chunk; null if the account no longer has it. */
  async chunk(id, hash) {
    const token = this.#signedToken();
    const answer = await this.#send(accountPath(id, "chunks", checked(hash)),
      { token, milliseconds: limits.transferMilliseconds });
    if (answer.status === 404) return null;
    if (!answer.ok) await this.#checked(answer, { token });
    try {
      return new Uint8Array(await answer.arrayBuffer());
    } catch {
      throw new OwnerFault({ code: "noAnswer" });
    }
  }

  async store() { return this.#object(await this.#call("/store")); }

  /** Returns the answer with the relay's metrics. @param {AbortSignal} signal */
  async metrics(signal) {
    const token = this.#signedToken();
    const answer = await this.#fetch("/metrics", { signal, token });
    if (answer.status === 401) this.#end(token);
    return answer;
  }

  async #call(path, { milliseconds = limits.callMilliseconds, ...request } = {}) {
    const token = this.#signedToken();
    const answer = await this.#send(path, { ...request, token, milliseconds });
    return this.#checked(answer, { token, isWrite: request.method !== undefined });
  }

  #signedToken() {
    if (this.#token === null) throw new OwnerFault({ code: "signedOut" });
    return this.#token;
  }

  /** Throws a fault if there is no answer. */
  async #send(path, { method = "GET", body, token, milliseconds = limits.callMilliseconds }) {
    try {
      const answer = await this.#fetch(path,
        { method, body, token, signal: this.#browser.timeout(milliseconds) });
      this.#compareClocks(answer.headers.get("Date"));
      return answer;
    } catch {
      throw new OwnerFault({ code: "noAnswer", isUncertain: method !== "GET" });
    }
  }

  /** The header has whole seconds, and the answer was on its way: less counts as equal. */
  #compareClocks(date) {
    const ahead = Date.parse(date ?? "") - this.#browser.now();
    if (Number.isFinite(ahead)) this.clockAhead = Math.abs(ahead) > sameClock ? ahead : 0;
  }

  #fetch(path, { method = "GET", body, token, signal }) {
    return this.#browser.fetch(root + path, {
      method, signal, cache: "no-store", credentials: "omit", redirect: "error",
      headers: {
        ...token !== null && { Authorization: `Bearer ${token}` },
        ...body !== undefined && { "Content-Type": "application/json" },
      },
      ...body !== undefined && { body: serialize(body) },
    });
  }

  /** Returns the text of an answer. Throws the fault of any other than a success. `token`: that of
   * the session with which it was asked for, which has ended if the relay does not know it. */
  async #checked(answer, { token = null, isWrite = false } = {}) {
    let body;
    try {
      body = await answer.text();
    } catch {
      throw new OwnerFault({ code: "noAnswer", isUncertain: isWrite });
    }
    if (answer.ok) return body;
    if (answer.status === 401 && token !== null) {
      this.#end(token);
      throw new OwnerFault({ code: "signedOut" });
    }
    throw faultOf({
      status: answer.status, contentType: answer.headers.get("Content-Type"), body,
      retryAfter: answer.headers.get("Retry-After"), isUncertain: isWrite,
    });
  }

  #object(body) {
    const object = objectIn(body);
    if (object === null) throw notOurs();
    return object;
  }

  /** Ends the session, if it is not another one by now. */
  #end(token) {
    if (this.#token !== token) return;
    this.#keep(null);
    this.onEnd();
  }

  #keep(token) {
    this.#token = token;
    this.#browser.keeper.write(token);
  }
}

const notOurs = () =>
  new OwnerFault({ code: "intercepted", detail: "something that is not the relay's answer" });
