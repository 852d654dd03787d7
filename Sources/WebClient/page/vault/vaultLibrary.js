import { vaultApp } from "../../apps/vault/vaultApp.js";
import { VaultContents } from "../../apps/vault/vaultContents.js";
import { contentsOf } from "../../apps/vault/vaultForm.js";
import { limits } from "../limits.js";
import { reasonText } from "../text/errorText.js";

/** The vault's files as the view needs them, and what is known of them: what is not sent yet, and
 * of which the relay lacks content. */
export class VaultLibrary {
  #controller;
  #changed;
  #contents = null;
  #isZoneSealed = null;
  #unsent = new Set();
  #missing = new Set();
  #reading = null;
  #isReadAgain = false;
  #isChecking = false;
  #timer = null;

  /** @param {() => void} changed called after something has changed that a query has found */
  constructor(controller, changed) {
    this.#controller = controller;
    this.#changed = changed;
    controller.subscribe(({ kind, records = [] }) => {
      const isOurs = kind === "changed" && records.some(({ zone }) => zone === vaultApp.zone);
      if (isOurs || kind === "devices") this.#contents = null;
      if (isOurs) this.#checkLater(limits.missingPauseMilliseconds);
      if (isOurs || kind === "status") this.read();
    });
    this.read();
  }

  /** True once it is known whether the zone is sealed. */
  get isKnown() { return this.#isZoneSealed !== null; }

  get isZoneSealed() { return this.#isZoneSealed === true; }

  /** @returns {VaultContents} */
  get contents() {
    this.#contents ??= new VaultContents(this.#controller.state(vaultApp),
      { isZoneSealed: this.isZoneSealed });
    return this.#contents;
  }

  /** Conflicts that no rule decides: `{name, file}`. */
  get asking() {
    return this.#controller.status.asking.filter(({ zone }) => zone === vaultApp.zone)
      .map(({ name, local }) => ({ name, file: contentsOf(local.fields, name)?.file ?? name }));
  }

  get known() {
    const refused = new Map(this.#controller.status.parked
      .filter(({ zone }) => zone === vaultApp.zone)
      .map(({ name, refusal }) => [name, reasonText(refusal)]));
    return { unsent: this.#unsent, refused, missing: this.#missing };
  }

  /** Asks the relay of which files it lacks content. */
  async checkContent() {
    if (this.#isChecking || !this.isKnown) return;
    this.#isChecking = true;
    try {
      const chunks = this.contents.files.flatMap((file) => file.chunks)
        .slice(0, limits.checkedChunks);
      const { files } = this.#controller.lockstep;
      const missing = chunks.length === 0 ? [] : await files.missing(vaultApp.zone, chunks);
      this.#missing = new Set(missing);
      this.#changed();
    } catch {
      // Without an answer, the state is the last known.
    } finally {
      this.#isChecking = false;
    }
    if (this.#missing.size > 0) this.#checkLater(limits.missingMilliseconds);
  }

  #checkLater(milliseconds) {
    const { browser } = this.#controller;
    browser.clearTimer(this.#timer);
    this.#timer = browser.setTimer(() => this.checkContent(), milliseconds);
  }

  /** Reads what is not among the records.
   * @returns {Promise<void>} after everything that has changed so far was read */
  read() {
    this.#isReadAgain = this.#reading !== null;
    this.#reading ??= this.#readAll();
    return this.#reading;
  }

  async #readAll() {
    do {
      this.#isReadAgain = false;
      await this.#readOnce();
    } while (this.#isReadAgain);
    this.#reading = null;
  }

  async #readOnce() {
    const { lockstep, status } = this.#controller;
    if (status.accountID === null) return;
    try {
      const isSealed = await lockstep.files.isSealed(vaultApp.zone);
      const unsent = status.waiting === 0 ? [] : await lockstep.unsent();
      const wasKnown = this.isKnown;
      if (isSealed !== this.#isZoneSealed) this.#contents = null;
      this.#isZoneSealed = isSealed;
      this.#unsent = new Set(unsent.filter(({ zone }) => zone === vaultApp.zone)
        .map(({ name }) => name));
      if (!wasKnown) this.#checkLater(limits.missingPauseMilliseconds);
      this.#changed();
    } catch {
      // The store is closed, or the account was left meanwhile.
    }
  }
}
