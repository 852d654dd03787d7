import { limits } from "../limits.js";
import { EditError } from "../replica/editing.js";
import { Deadline } from "../uplink/environment.js";

/**
 * Orders of a tab to the leading tab, over a channel that may lose any message. An order is
 * repeated with the same id until it is answered, and performed once.
 */
export class OrderSender {
  #environment;
  #post;
  #silent;
  #waiting = new Map();

  /** @param {{environment: object, post: (message: object) => void, silent: () => void}} options
   * `silent`: called if the leading tab does not answer */
  constructor({ environment, post, silent }) {
    this.#environment = environment;
    this.#post = post;
    this.#silent = silent;
  }

  send(order) {
    return new Promise((resolve, reject) => {
      const waiting = { order, resolve, reject, tries: 0, isAccepted: false,
        deadline: new Deadline(this.#environment) };
      this.#waiting.set(order.id, waiting);
      this.#ask(waiting);
    });
  }

  /** Handles the confirmation that an order is being performed: its answer has a longer timeout. */
  accepted(id) {
    const waiting = this.#waiting.get(id);
    if (!waiting || waiting.isAccepted) return;
    waiting.isAccepted = true;
    waiting.deadline.set(limits.syncMilliseconds + limits.orderMilliseconds, () => {
      waiting.isAccepted = false;
      this.#ask(waiting);
    });
  }

  answered({ id, result, error }) {
    const waiting = this.#take(id);
    if (error) waiting?.reject(new EditError(error.code, error.message));
    else waiting?.resolve(result);
  }

  /**
   * Takes all orders, because this tab leads now and performs them itself.
   * @returns {{order: object, resolve: Function, reject: Function}[]}
   */
  takeAll() { return [...this.#waiting.keys()].map((id) => this.#take(id)); }

  #take(id) {
    const waiting = this.#waiting.get(id);
    waiting?.deadline.clear();
    this.#waiting.delete(id);
    return waiting;
  }

  #ask(waiting) {
    if (waiting.tries === limits.orderTries) {
      this.#take(waiting.order.id);
      waiting.reject(new EditError("silent", "the page's other tab does not answer; reload it"));
      return;
    }
    waiting.tries += 1;
    this.#post({ kind: "order", order: waiting.order });
    waiting.deadline.set(limits.orderMilliseconds, () => {
      if (waiting.tries >= limits.silencesToLead) this.#silent();
      this.#ask(waiting);
    });
  }
}

/** Receiver of the orders, in the leading tab. */
export class OrderReceiver {
  #post;
  #carryOut;
  #running = new Set();

  constructor({ post, carryOut }) {
    this.#post = post;
    this.#carryOut = carryOut;
  }

  async received(order) {
    const { id } = order;
    if (this.#running.size >= limits.runningOrders) return;
    this.#post({ kind: "accepted", id });
    if (this.#running.has(id)) return;
    this.#running.add(id);
    try {
      this.#post({ kind: "answer", id, result: await this.#carryOut(order) });
    } catch (error) {
      const { code = "failed", message } = error;
      this.#post({ kind: "answer", id, error: { code, message } });
    } finally {
      this.#running.delete(id);
    }
  }
}
