import { element, icon } from "./element.js";
import { limits } from "../limits.js";

/**
 * Adds swipe actions to a row of a list: a finger that moves it to the left or the right, and lets
 * go, acts. Each action must have a button, too: a swipe is only the faster way.
 *
 * An action: `icon` and `words`, shown while the row moves; `act`; `changes`, true if it changes
 * something, which a device that may only read is not offered; `isDanger`.
 *
 * @param {HTMLElement} row
 * @param {{left?: object, right?: object}} actions by the direction in which the finger moves
 * @returns {HTMLElement} the row
 */
export function swipeable(row, actions) {
  const swipe = new Swipe(row, actions);
  row.classList.add("swipe");
  for (const [direction, action] of Object.entries(actions)) {
    row.append(element("span", { class: `swipe-action ${direction}`, "aria-hidden": "true",
      "data-danger": action.isDanger }, icon(action.icon), element("span", {}, action.words)));
  }
  row.addEventListener("pointerdown", (event) => swipe.begin(event));
  row.addEventListener("pointermove", (event) => swipe.move(event));
  row.addEventListener("pointerup", (event) => swipe.end(event));
  row.addEventListener("pointercancel", () => swipe.cancel());
  row.addEventListener("click", (event) => swipe.handleClick(event), { capture: true });
  return row;
}

/**
 * State of a row: at rest, touched (the finger may still scroll the page or press a button), or
 * moved.
 *
 * - at rest: next is touched.
 * - touched: next is moved, or at rest if the finger scrolls or lets go.
 * - moved: next is at rest.
 */
class Swipe {
  #row;
  #actions;
  /** Pointer and place where it came down; null at rest. */
  #touch = null;
  #isMoved = false;
  /** True after a swipe until the click that browsers make of it. */
  #hasSwiped = false;

  constructor(row, actions) {
    this.#row = row;
    this.#actions = actions;
  }

  begin({ pointerType, isPrimary, pointerId, clientX, clientY }) {
    this.#hasSwiped = false;
    // At its edges the screen belongs to the system's own swipes.
    const isAtEdge = Math.min(clientX, innerWidth - clientX) < limits.swipeEdgePixels;
    if (pointerType !== "touch" || !isPrimary || isAtEdge) return;
    this.#touch = { pointerId, x: clientX, y: clientY };
  }

  move({ pointerId, clientX, clientY }) {
    if (this.#touch?.pointerId !== pointerId) return;
    const [x, y] = [clientX - this.#touch.x, clientY - this.#touch.y];
    if (!this.#isMoved) {
      if (Math.abs(x) < limits.swipeBeginPixels) return;
      if (Math.abs(x) < Math.abs(y) || this.#action(x) === null) {
        this.cancel();
        return;
      }
      this.#isMoved = true;
      this.#row.setPointerCapture(pointerId);
      this.#row.classList.add("swiping");
    }
    const shown = this.#action(x) === null ? 0 : x;
    this.#row.style.transform = `translateX(${Math.round(shown)}px)`;
    this.#row.classList.toggle("will-act", this.#isFar(shown));
  }

  end({ pointerId, clientX }) {
    if (this.#touch?.pointerId !== pointerId) return;
    const x = clientX - this.#touch.x;
    const action = this.#isMoved && this.#isFar(x) ? this.#action(x) : null;
    this.#hasSwiped = this.#isMoved;
    this.cancel();
    action?.act();
  }

  cancel() {
    this.#touch = null;
    this.#isMoved = false;
    this.#row.style.transform = "";
    this.#row.classList.remove("swiping", "will-act");
  }

  /** The finger may have come down on a button. */
  handleClick(event) {
    if (!this.#hasSwiped) return;
    this.#hasSwiped = false;
    event.preventDefault();
    event.stopPropagation();
  }

  #isFar(x) {
    return Math.abs(x) >= Math.min(limits.swipeActPixels, this.#row.clientWidth / 3);
  }

  #action(x) {
    const action = this.#actions[x < 0 ? "left" : "right"] ?? null;
    const isFixed = action?.changes && this.#row.closest("[data-read-only]") !== null;
    return isFixed ? null : action;
  }
}
