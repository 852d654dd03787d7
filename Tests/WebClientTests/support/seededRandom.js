import { uuid } from "../../../Sources/WebClient/model/name.js";

/** Random generator whose whole sequence follows from its seed (sfc32 of Chris Doty-Humphrey). */
export class SeededRandom {
  #state;

  constructor(seed) {
    this.#state = [0x9e3779b9, seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0, 1];
    for (let round = 0; round < 12; round += 1) this.#next();
  }

  #next() {
    const [a, b, c, count] = this.#state;
    const result = (a + b + count) >>> 0;
    this.#state = [
      b ^ (b >>> 9), (c + (c << 3)) >>> 0, (((c << 21) | (c >>> 11)) + result) >>> 0,
      (count + 1) >>> 0,
    ];
    return result;
  }

  /** Returns a whole number from 0 to below `end`. */
  below(end) { return this.#next() % end; }

  chance(likelihood) { return this.#next() < likelihood * 2 ** 32; }

  bool() { return this.below(2) === 1; }

  pick(elements) { return elements[this.below(elements.length)]; }

  shuffled(elements) {
    const rest = [...elements];
    return elements.map(() => rest.splice(this.below(rest.length), 1)[0]);
  }

  bytes(count) { return Uint8Array.from({ length: count }, () => this.below(256)); }

  uuid() { return uuid((count) => this.bytes(count)); }
}
