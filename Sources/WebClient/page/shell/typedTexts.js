/**
 * Texts that a person has typed, and that the page itself would lose when it is loaded again, as
 * after the choice of another language. A view names such fields in `drafts`. The texts are in this
 * tab alone, and are removed when they are read.
 */
export class TypedTexts {
  #memory;

  /** @param {{read: Function, write: Function, remove: Function}} memory of this tab, as in
   *   `page/browser.js` */
  constructor(memory) { this.#memory = memory; }

  /** @param {Iterable<[string, {drafts?: Record<string, HTMLInputElement>}]>} views by
   *   name */
  keep(views) {
    for (const [name, { value, defaultValue }] of fieldsOf(views)) {
      if (value !== defaultValue) this.#memory.write(name, value);
    }
  }

  restore(views) {
    for (const [name, field] of fieldsOf(views)) {
      const text = this.#memory.read(name);
      if (text === null) continue;
      field.value = text;
      this.#memory.remove(name);
    }
  }
}

const fieldsOf = (views) => [...views].flatMap(([view, { drafts = {} }]) =>
  Object.entries(drafts).map(([name, field]) => [`lockstep typed ${view} ${name}`, field]));
