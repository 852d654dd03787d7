import { limits } from "../limits.js";
import { EditError } from "../replica/editing.js";
import { Deadline } from "../transport/environment.js";

/**
 * Orders of a tab to the leading tab, over a channel that may lose any message. An order is
 * repeated with the same id until it is answered, and performed once.
 */
export class OrderSender {
  #environment;
  #post;
  #onSilence;
  #waiting = new Map();

  /** @param {{environment: object, post: (message: object) => void, onSilence: () => void}} options
   * `onSilence`: called if the leading tab does not answer */
  constructor({ environment, post, onSilence }) {
    this.#environment = environment;
    this.#post = post;
    this.#onSilence = onSilence;
  }

  send(order) {
    return new Promise((resolve, reject) => {
      const waiting = { order, resolve, reject, tries: 0, isAccepted: false,
        deadline: new Deadline(this.#environment) };
      this.#waiting.set(order.id, waiting);
      this.#postOrder(waiting);
    });
  }

  /** Handles the confirmation that an order is being performed: its answer has a longer timeout. */
  handleAccepted(id) {
    const waiting = this.#waiting.get(id);
    if (!waiting || waiting.isAccepted) return;
    waiting.isAccepted = true;
    waiting.deadline.set(limits.syncMilliseconds + limits.orderMilliseconds, () => {
      waiting.isAccepted = false;
      this.#postOrder(waiting);
    });
  }

  handleAnswer({ id, result, error }) {
    const waiting = this.#remove(id);
    if (error) waiting?.reject(new EditError(error.code, error.message));
    else waiting?.resolve(result);
  }

  /**
   * Removes and returns all orders, because this tab leads now and performs them itself.
   * @returns {{order: object, resolve: Function, reject: Function}[]}
   */
  removeAll() { return [...this.#waiting.keys()].map((id) => this.#remove(id)); }

  #remove(id) {
    const waiting = this.#waiting.get(id);
    waiting?.deadline.clear();
    this.#waiting.delete(id);
    return waiting;
  }

  #postOrder(waiting) {
    if (waiting.tries === limits.orderTries) {
      this.#remove(waiting.order.id);
      waiting.reject(new EditError("silent", "the page's other tab does not answer; reload it"));
      return;
    }
    waiting.tries += 1;
    this.#post({ kind: "order", order: waiting.order });
    waiting.deadline.set(limits.orderMilliseconds, () => {
      if (waiting.tries >= limits.silencesToLead) this.#onSilence();
      this.#postOrder(waiting);
    });
  }
}

/** Receiver of the orders, in the leading tab. */
export class OrderReceiver {
  #post;
  #perform;
  #running = new Set();

  constructor({ post, perform }) {
    this.#post = post;
    this.#perform = perform;
  }

  async handleOrder(order) {
    const { id } = order;
    if (this.#running.size >= limits.runningOrders) return;
    this.#post({ kind: "accepted", id });
    if (this.#running.has(id)) return;
    this.#running.add(id);
    try {
      this.#post({ kind: "answer", id, result: await this.#perform(order) });
    } catch (error) {
      const { code = "failed", message } = error;
      this.#post({ kind: "answer", id, error: { code, message } });
    } finally {
      this.#running.delete(id);
    }
  }
}
