/**
 * State of the relay's answers, as text. The text changes only with the state, because it is read
 * aloud.
 */
export class RelayAvailability {
  /** @param {(wall: number) => string} clock formats a moment, in milliseconds */
  constructor(clock) {
    this.clock = clock;
    this.isPaused = false;
    /** Time of the last answer, null: none. Time of the first failure since then, null: none. */
    this.answeredAt = null;
    this.silentSince = null;
  }

  answered(wall) {
    this.answeredAt = wall;
    this.silentSince = null;
  }

  /** Records a missing answer, or an answer that is not metrics. */
  failed(wall) { this.silentSince ??= wall; }

  get isSilent() { return this.silentSince !== null; }

  /** @returns {"asking" | "answers" | "silent" | "paused"} */
  get state() {
    if (this.isPaused) return "paused";
    if (this.isSilent) return "silent";
    return this.answeredAt === null ? "asking" : "answers";
  }

  get words() {
    if (this.state === "asking") return "Asking the relay …";
    if (this.state === "answers") return "Live";
    if (this.state === "paused") return `Paused${this.age}`;
    return `No answer since ${this.clock(this.silentSince)}${this.age}`;
  }

  /** Time of the shown figures. */
  get age() {
    return this.answeredAt === null ? "" : `; figures are of ${this.clock(this.answeredAt)}`;
  }
}
