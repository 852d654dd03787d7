import { t } from "../language/language.js";
import { limits } from "../limits.js";

/**
 * Texts that a person has typed and that are not saved yet, kept in this browser from the first
 * letter: after a crash, a reload, or a save that was refused, the memo opens with them.
 *
 * A draft is `{id, memo, content, was, seenAt, at}`; `memo` is the memo's name, `was` the text that
 * the person began to change, `seenAt` the stamp of that text, null for a new memo.
 */
export class MemoDrafts {
  #store;
  #drafts = new Map();
  #changed;
  /** Resolves once the drafts of before are read. */
  isRead;
  /** Sentence if the last draft could not be kept; otherwise empty. */
  problem = "";

  /** @param {() => void} changed called when the list of drafts has changed */
  constructor(store, changed) {
    this.#store = store;
    this.#changed = changed;
    this.isRead = this.#read();
  }

  async #read() {
    try {
      const kept = await this.#store.all("drafts");
      for (const draft of kept) if (!this.#drafts.has(draft.id)) this.#drafts.set(draft.id, draft);
    } catch {
      this.problem = t("This browser did not read its drafts.");
    }
    this.#changed();
  }

  /** Returns the drafts, the newest first. */
  get all() { return [...this.#drafts.values()].sort((one, other) => other.at - one.at); }

  /** Returns the newest draft of a memo; null if there is none. */
  of(memo) { return this.all.find((draft) => draft.memo === memo) ?? null; }

  async keep(draft) {
    const isNew = !this.#drafts.has(draft.id);
    this.#drafts.set(draft.id, draft);
    const oldest = this.all.slice(limits.drafts);
    if (isNew) this.#changed();
    try {
      await this.#store.put("drafts", draft.id, draft);
      this.problem = "";
    } catch {
      this.problem = t("This browser keeps no draft of it.");
    }
    for (const { id } of oldest) await this.remove(id);
  }

  async remove(id) {
    if (!this.#drafts.delete(id)) return;
    this.#changed();
    try {
      await this.#store.remove("drafts", id);
    } catch {
      // It is shown once more after the next reload, beside the memo that was saved.
      this.problem = t("This browser did not remove a draft that is saved.");
    }
  }

  /** Forgets the drafts of an account that this browser has left. */
  clear() {
    this.#drafts.clear();
    this.#changed();
  }
}
