import { errorText } from "../text/syncText.js";

/**
 * The person's choice of notifications from a closed page. It is on while the browser has a push
 * subscription, which is registered at the relay.
 *
 * `state`: `obstacle` and `permission` as the browser has them; `isOn`; `wakeKey`, null if the
 * relay wakes no devices, undefined if it has not answered; `wake`, the registration as the relay
 * has it, null if it has none, undefined if it has not answered; `problem`, a sentence or null.
 */
export class WakeSwitch {
  #controller;
  #push;
  #state = { isOn: false, wakeKey: undefined, wake: undefined, problem: null };
  #listener = () => {};
  /** Account whose registration was checked since the page was opened. */
  #checkedAccount = null;
  #isForgotten = false;

  constructor(controller, push) {
    this.#controller = controller;
    this.#push = push;
    controller.subscribe(({ kind }) => { if (kind === "status") this.#handleStatus(); });
    this.#handleStatus();
  }

  get state() {
    const { obstacle } = this.#push;
    const permission = obstacle ? "denied" : this.#push.permission;
    return { ...this.#state, obstacle, permission };
  }

  /** @param {() => void} listener called after every change of `state` */
  subscribe(listener) { this.#listener = listener; }

  /** Asks the browser and the relay for the state. */
  refresh() { return this.#try(() => this.#read()); }

  /** Call it in the handler of a click: browsers ask the person only then. */
  turnOn() {
    return this.#try(async () => {
      if (await this.#push.requestPermission() === "granted") await this.#subscribe();
      await this.#read();
    });
  }

  turnOff() {
    return this.#try(async () => {
      await (await this.#push.subscription())?.unsubscribe();
      this.#change({ isOn: false, wake: undefined });
      // Without an answer, the relay learns it from the push service with its next push.
      await this.#lockstep.removeWake().catch(() => {});
    });
  }

  get #lockstep() { return this.#controller.lockstep; }

  async #try(act) {
    if (this.#push.obstacle) return;
    try {
      await act();
      this.#change({ problem: null });
    } catch (error) {
      this.#change({ problem: errorText(error) });
    }
  }

  #change(changes) {
    this.#state = { ...this.#state, ...changes };
    this.#listener();
  }

  async #read() {
    const isOn = await this.#push.subscription() !== null;
    this.#change({ isOn });
    this.#change({ wakeKey: await this.#lockstep.wakeKey() });
    this.#change({ wake: isOn ? await this.#readWake() : undefined });
  }

  async #readWake() {
    return (await this.#lockstep.wakes()).find(({ id }) => id === "page") ?? null;
  }

  async #subscribe() {
    const key = await this.#lockstep.wakeKey();
    if (key === null) return;
    const subscription = await this.#push.subscribe(key);
    try {
      await this.#register(subscription);
    } catch (error) {
      // No push would come, so the browser keeps no subscription that shows the choice as on.
      await subscription.unsubscribe();
      throw error;
    }
  }

  #register(subscription) {
    const { notification } = this.#push;
    return this.#lockstep.registerWake(subscription, "page", { notification });
  }

  /** Checks the registration once the account is in sync, and ends the subscription when the
   * browser has left the account. */
  #handleStatus() {
    const { accountID, state } = this.#controller.status;
    if (this.#push.obstacle) return;
    if (accountID === null) {
      if (!this.#isForgotten) this.#try(() => this.#forget());
      this.#isForgotten = true;
    } else if (accountID !== this.#checkedAccount && ["inSync", "needsPerson"].includes(state)) {
      this.#isForgotten = false;
      this.#checkedAccount = accountID;
      this.#try(() => this.#keepUp());
    }
  }

  async #forget() {
    this.#checkedAccount = null;
    await (await this.#push.subscription())?.unsubscribe();
    await this.#push.forget();
    this.#change({ isOn: false, wake: undefined });
  }

  /** Registers again what the relay has lost or not proved, and subscribes for a new key of the
   * relay. */
  async #keepUp() {
    const subscription = await this.#push.subscription();
    if (!subscription) return;
    const key = await this.#lockstep.wakeKey();
    if (key !== null && key !== subscription.key) {
      await subscription.unsubscribe();
      await this.#subscribe();
    } else if (key !== null && (await this.#readWake())?.state !== "verified") {
      await this.#register(subscription);
    }
    await this.#read();
  }
}
