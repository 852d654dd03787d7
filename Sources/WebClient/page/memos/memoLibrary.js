import { memosApp } from "../../apps/memos/memosApp.js";
import { folded, memoContents, memosWith } from "../../apps/memos/memoContents.js";
import { tagCounts, tagKey, tagsOf } from "./memoTags.js";

/** The memos as the views need them: computed when records or the names of devices have changed,
 * not when a second has passed. */
export class MemoLibrary {
  #controller;
  #isOld = true;
  #memos = [];
  #byName = new Map();
  #copies = new Map();
  #tags = [];
  /** Tags and the text to search, by name: `{content, tags, folded}`. */
  #derived = new Map();
  /** Number of times that the memos were computed anew. */
  revision = 0;

  constructor(controller) {
    this.#controller = controller;
    controller.subscribe(({ kind, records = [] }) => {
      const isOurs = kind === "changed" && records.some(({ zone }) => zone === memosApp.zone);
      if (isOurs || kind === "devices") this.#isOld = true;
    });
  }

  /** The memos, the most recently written first, as `memoContents` returns them, with `tags`. */
  get memos() {
    this.refresh();
    return this.#memos;
  }

  /** All tags, those of most memos first. */
  get tags() {
    this.refresh();
    return this.#tags;
  }

  memo(name) {
    this.refresh();
    return this.#byName.get(name) ?? null;
  }

  /** Returns the copies that conflicts have left of a memo, the newest first. */
  copiesOf(name) {
    this.refresh();
    return this.#copies.get(name) ?? [];
  }

  /** Returns the memos with all words, and with the tag unless it is null. */
  found(words, tag) {
    const tagged = tag === null ? this.memos
      : this.memos.filter(({ tags }) => tags.some((it) => tagKey(it) === tag));
    return memosWith(words, tagged, (memo) => this.#foldedOf(memo));
  }

  refresh() {
    if (!this.#isOld) return;
    this.#isOld = false;
    this.revision += 1;
    const derived = new Map();
    this.#memos = memoContents(this.#controller.state(memosApp)).map((memo) => {
      const known = this.#derived.get(memo.name);
      const mine = known?.content === memo.content ? known
        : { content: memo.content, tags: tagsOf(memo.content), folded: null };
      derived.set(memo.name, mine);
      return { ...memo, tags: mine.tags };
    });
    this.#derived = derived;
    this.#byName = new Map(this.#memos.map((memo) => [memo.name, memo]));
    this.#tags = tagCounts(this.#memos);
    this.#copies = new Map();
    for (const memo of this.#memos) {
      if (memo.copyOf === null) continue;
      this.#copies.set(memo.copyOf, [...this.#copies.get(memo.copyOf) ?? [], memo]);
    }
  }

  #foldedOf(memo) {
    const derived = this.#derived.get(memo.name);
    derived.folded ??= folded(memo.content);
    return derived.folded;
  }
}
