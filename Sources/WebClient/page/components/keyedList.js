import { serialize } from "../../lockstep.js";

/**
 * Rows of a list that changes while a person uses it. An unchanged row stays the same element, and
 * keeps its selection and focus.
 */
export class KeyedList {
  #parent;
  #make;
  #rows = new Map();

  /**
   * @param {Element} parent
   * @param {(item: object) => Element} make returns the row of an item; an item is JSON and has a
   *   unique `key`
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

/** Restores the focus in the new row, to the element with the same `data-name`. */
function replaced(old, node) {
  const name = old.contains(document.activeElement) ? document.activeElement.dataset.name : null;
  old.replaceWith(node);
  if (name) node.querySelector(`[data-name="${name}"]`)?.focus();
}
