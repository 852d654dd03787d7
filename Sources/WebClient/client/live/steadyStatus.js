import { limits } from "../limits.js";
import { Deadline } from "../transport/environment.js";

/**
 * The sync status for a person, without flicker: "in sync" is shown once it has lasted, and every
 * other state at once. So it is never "in sync" if the device is not.
 */
export class SteadyStatus {
  status;
  #next = null;
  #deadline;
  #onChange;

  constructor(environment, status, onChange) {
    this.status = status;
    this.#deadline = new Deadline(environment);
    this.#onChange = onChange;
  }

  update(status) {
    this.#next = status;
    const isRecovery = status.state === "inSync" && this.status.state !== "inSync";
    if (!isRecovery) {
      this.#deadline.clear();
      this.#show();
    } else if (!this.#deadline.isSet) {
      this.#deadline.set(limits.steadyMilliseconds, () => this.#show());
    }
  }

  close() { this.#deadline.clear(); }

  #show() {
    this.status = this.#next;
    this.#onChange();
  }
}
