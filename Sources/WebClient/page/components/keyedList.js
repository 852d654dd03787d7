import { serialize } from "../../changes/json.js";

/**
 * The rows of a list that changes under a person's hands: a row of which nothing changed stays the
 * same element, and keeps what is selected and focused in it.
 */
export class KeyedList {
  #parent;
  #make;
  #rows = new Map();

  /**
   * @param {Element} parent
   * @param {(item: object) => Element} make a row of an item; an item has a `key` of its own, and
   *   is JSON
   */
  constructor(parent, make) {
    this.#parent = parent;
    this.#make = make;
  }

  show(items) {
    const rows = new Map();
    for (const item of items) rows.set(item.key, this.#row(item));
    for (const [key, { node }] of this.#rows) if (!rows.has(key)) node.remove();
    this.#rows = rows;
    let place = this.#parent.firstElementChild;
    for (const { node } of rows.values()) {
      if (node === place) place = place.nextElementSibling;
      else this.#parent.insertBefore(node, place);
    }
  }

  #row(item) {
    const signature = serialize(item);
    const known = this.#rows.get(item.key);
    if (known?.signature === signature) return known;
    const node = this.#make(item);
    if (known) replaced(known.node, node);
    return { node, signature };
  }
}

/** What had the focus has it again in the new row, by its `data-name`. */
function replaced(old, node) {
  const name = old.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  old.replaceWith(node);
  if (name) node.querySelector(`[data-name="${name}"]`)?.focus();
}
