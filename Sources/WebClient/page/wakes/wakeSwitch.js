import { errorText } from "../text/errorText.js";

/**
 * The person's choice of notifications from a closed page. It is on while the browser has the mark
 * that the person wants them. What they need, a push subscription that is registered at the relay,
 * may be missing for a time; each connection of the page repairs it.
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
  /** Account whose registration was checked since the page was connected. */
  #checkedAccount = null;
  #isChecking = false;
  #isCheckDue = false;
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
      if (await this.#push.requestPermission() === "granted") await this.#start();
      await this.#read();
    });
  }

  turnOff() {
    return this.#try(async () => {
      await this.#push.unwant();
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
    const subscription = await this.#push.subscription();
    const accepted = await this.#push.wanted();
    const isOn = subscription !== null || accepted !== null;
    this.#change({ isOn });
    this.#change({ wakeKey: await this.#lockstep.wakeKey() });
    // The relay may still have a registration of a subscription that has ended.
    const isKnown = accepted === null || accepted === subscription?.endpoint;
    const wake = isOn ? isKnown ? await this.#readWake() : null : undefined;
    this.#change({ wake });
  }

  async #readWake() {
    return (await this.#lockstep.wakes()).find(({ id }) => id === "page") ?? null;
  }

  async #start() {
    const key = await this.#lockstep.wakeKey();
    if (key === null) return;
    await this.#push.choose();
    try {
      await this.#register(await this.#push.subscribe(key));
    } catch (error) {
      // No push would come, so nothing shows the choice as on.
      await this.#push.unwant();
      await (await this.#push.subscription())?.unsubscribe();
      throw error;
    }
  }

  /** Registers a subscription, unless the person has turned wakes off in the meantime. */
  async #register(subscription) {
    const { notification } = this.#push;
    if (await this.#push.wanted() !== null) {
      await this.#lockstep.registerWake(subscription, "page", { notification });
    }
    if (await this.#push.wanted() !== null) await this.#push.want(subscription.endpoint);
    else await subscription.unsubscribe();
  }

  /** Checks the registration once the account is in sync, again after each outage, and ends the
   * subscription when the browser has left the account. */
  #handleStatus() {
    const { accountID, state } = this.#controller.status;
    if (this.#push.obstacle) return;
    if (accountID === null) {
      if (!this.#isForgotten) this.#try(() => this.#forget());
      this.#isForgotten = true;
    } else if (state === "offline") {
      this.#checkedAccount = null;
    } else if (accountID !== this.#checkedAccount && ["inSync", "needsPerson"].includes(state)) {
      this.#isForgotten = false;
      this.#checkedAccount = accountID;
      this.#check();
    }
  }

  /** Runs one check at a time, and one more for all that became due meanwhile: two at once would
   * end each other's subscription. */
  async #check() {
    this.#isCheckDue = true;
    if (this.#isChecking) return;
    this.#isChecking = true;
    while (this.#isCheckDue) {
      this.#isCheckDue = false;
      await this.#try(() => this.#keepUp());
    }
    this.#isChecking = false;
  }

  async #forget() {
    this.#checkedAccount = null;
    await this.#push.forget();
    await (await this.#push.subscription())?.unsubscribe();
    this.#change({ isOn: false, wake: undefined });
  }

  /** Subscribes where the subscription is missing or is for another key than the relay's, and
   * registers what the relay has not accepted, not proved, or lost. */
  async #keepUp() {
    if (this.#push.permission !== "granted") {
      // The person has withdrawn it. To allow notifications again is no choice of them.
      await this.#push.unwant();
      this.#change({ isOn: false, wake: undefined });
      return;
    }
    const accepted = await this.#push.wanted();
    if (accepted === null && await this.#push.subscription() === null) return;
    // Earlier versions made no mark.
    if (accepted === null) await this.#push.want("");
    // The former subscription stays if the relay gives no answer, and would accept no other.
    const key = await this.#lockstep.wakeKey();
    if (key !== null) {
      const subscription = await this.#subscriptionFor(key);
      const isAccepted = subscription.endpoint === accepted;
      if (!isAccepted || (await this.#readWake())?.state !== "verified") {
        await this.#register(subscription);
      }
    }
    await this.#read();
  }

  /** Returns the subscription, or in its place one for another key: a browser has one at a time,
   * and refuses another key while it has it. */
  async #subscriptionFor(key) {
    const former = await this.#push.subscription();
    if (former?.key === key) return former;
    await former?.unsubscribe();
    return this.#push.subscribe(key);
  }
}
