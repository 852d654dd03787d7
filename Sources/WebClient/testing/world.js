import { appsOf } from "../client/appsOf.js";
import { limits } from "../client/limits.js";
import { MemoryRelay } from "./memoryRelay.js";
import { TestDevice } from "./testDevice.js";

/** Devices of one account, and their relay. */
export class World {
  /** Relay time, milliseconds. Each edit on a device is made at a later millisecond. */
  #now = 1_790_000_000_000;
  #apps;
  #relay = new MemoryRelay();
  #devices = [];

  /** @param {{rules?: object | object[],
   *   apps?: import("../client/replica/merging.js").App[]}} [options] as for `Lockstep.open` */
  constructor({ rules = [], apps = [] } = {}) { this.#apps = appsOf(rules, apps); }

  get now() { return this.#now += 1; }

  /** Lets time pass. */
  wait(milliseconds) { this.#now += milliseconds; }

  /** Adds a device to the account. */
  device(name) {
    const device = new TestDevice(this, name, this.#apps);
    this.#devices.push(device);
    return device;
  }

  /** Takes a device off the network, until `heal`. */
  cut(device) { device.isCut = true; }

  heal(device) { device.isCut = false; }

  /** Exchanges changes until no device that is on the network has anything to send. */
  settle() {
    for (let rounds = 0; rounds < limits.worldRounds; rounds += 1) {
      const online = this.#devices.filter(({ isCut }) => !isCut);
      const sent = online.map((device) => device.sync(this.#relay));
      if (!sent.includes(true)) return;
    }
    throw new Error("the devices do not agree: a rule gives each side another outcome");
  }
}
