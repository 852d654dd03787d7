import { vaultApp } from "../../apps/vault/vaultApp.js";
import { CallError, FileError } from "../../lockstep.js";
import { limits } from "../limits.js";
import { errorText } from "../text/errorText.js";

/**
 * Files on their way to the relay, one after the other. A browser does not keep them: they are sent
 * while the page is open.
 *
 * States of a transfer:
 *
 * - waiting: next is running, or it is stopped
 * - running: next is done, paused (without a connection), or failed
 * - paused: next is waiting, when the connection is back
 * - failed: next is waiting, if the person tries it again
 */
export class VaultTransfers {
  #controller;
  #changed;
  #put;
  #list = [];
  #count = 0;
  #retry = null;
  #wasConnected = false;
  #lastAccount = null;

  /**
   * @param {{changed: () => void, put: (file: string, records: object[]) => void}} events `put`: a
   *   file is in the account; with its changed records
   */
  constructor(controller, { changed, put }) {
    this.#controller = controller;
    this.#changed = changed;
    this.#put = put;
    controller.subscribe(({ kind }) => { if (kind === "status") this.#followStatus(); });
  }

  /** @returns {{key: string, file: string, state: string, doneBytes: number, totalBytes: number,
   *   problem: string}[]} */
  get list() { return this.#list.filter(({ account }) => account === this.#account); }

  /** True if leaving the page would lose a file that a person has added. */
  get isBusy() { return this.list.some(({ state }) => state !== "failed"); }

  /**
   * Adds a file to be sent. Returns false if too many wait.
   *
   * @param {{file: string, blob: Blob, seen: string | null}} upload `seen`: hash of the version
   *   that it replaces
   */
  add({ file, blob, seen }) {
    if (this.#list.length >= limits.vaultTransfers) return false;
    this.#count += 1;
    this.#list.push({ key: `transfer ${this.#count}`, file, blob, seen, account: this.#account,
      state: "waiting", doneBytes: 0, totalBytes: blob.size, problem: "",
      stopper: new AbortController() });
    this.#next();
    return true;
  }

  stop(key) {
    const transfer = this.#list.find((it) => it.key === key);
    if (!transfer) return;
    transfer.stopper.abort();
    this.#list = this.#list.filter((it) => it !== transfer);
    this.#next();
  }

  tryAgain(key) {
    const transfer = this.#list.find((it) => it.key === key);
    if (transfer && ["failed", "paused"].includes(transfer.state)) transfer.state = "waiting";
    this.#next();
  }

  /** A tab that takes over the lead does not know the account for a moment. */
  get #account() {
    const { accountID, state } = this.#controller.status;
    if (accountID !== null || state === "needsPairing") this.#lastAccount = accountID;
    return this.#lastAccount;
  }

  #next() {
    // What was added for another account is not sent to this one.
    for (const { account, stopper } of this.#list) if (account !== this.#account) stopper.abort();
    this.#list = this.#list.filter(({ stopper }) => !stopper.signal.aborted);
    const isRunning = this.#list.some(({ state }) => state === "running");
    const next = isRunning ? null : this.#list.find(({ state }) => state === "waiting");
    if (next) this.#run(next);
    this.#changed();
  }

  async #run(transfer) {
    transfer.state = "running";
    try {
      await this.#send(transfer);
      this.#list = this.#list.filter((it) => it !== transfer);
    } catch (error) {
      this.#handleFault(transfer, error);
    }
    this.#next();
  }

  async #send(transfer) {
    const { file, blob, seen, stopper: { signal } } = transfer;
    const { files } = this.#controller.lockstep;
    const sent = await files.upload(vaultApp.zone, blob, {
      name: file, isCutByContent: true, signal,
      onProgress: ({ doneBytes }) => {
        transfer.doneBytes = doneBytes;
        this.#changed();
      },
    });
    if (signal.aborted) throw new FileError("aborted");
    const fields = { ...sent.file, sha256: sent.sha256, parts: sent.parts };
    const records = await this.#controller.act(vaultApp, { do: "put", file, fields, seen });
    this.#put(file, records);
  }

  #handleFault(transfer, error) {
    if (error instanceof FileError && error.code === "aborted") return;
    transfer.state = error instanceof CallError ? "paused" : "failed";
    transfer.problem = errorText(error);
    if (transfer.state === "paused") this.#retryLater();
  }

  #retryLater() {
    const { browser } = this.#controller;
    browser.clearTimer(this.#retry);
    this.#retry = browser.setTimer(() => this.#resume(), limits.transferRetryMilliseconds);
  }

  #followStatus() {
    const isConnected = this.#controller.status.transport !== null;
    const isBack = isConnected && !this.#wasConnected;
    this.#wasConnected = isConnected;
    if (isBack || this.#list.some(({ account }) => account !== this.#account)) this.#resume();
  }

  #resume() {
    for (const transfer of this.#list) if (transfer.state === "paused") transfer.state = "waiting";
    this.#next();
  }
}
