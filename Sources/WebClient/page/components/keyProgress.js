import { element, setAttribute, show } from "./element.js";

/** Bar that is shown while a key is computed. */
export class KeyProgress {
  #worker;
  #bar = element("progress", { max: 1, value: 0 });
  node;

  /** @param {import("../keyWorker.js").KeyWorker} worker */
  constructor(worker, words) {
    this.#worker = worker;
    this.node = element("label", { class: "key-progress", hidden: true }, words, this.#bar);
  }

  /** Shows the bar during what `act` computes. */
  async during(act) {
    this.#worker.onProgress = (done) => {
      setAttribute(this.#bar, "value", done);
      show(this.node, true);
    };
    try {
      return await act();
    } finally {
      this.#worker.onProgress = null;
      show(this.node, false);
    }
  }
}
