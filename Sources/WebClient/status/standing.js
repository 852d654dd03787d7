/**
 * Whether the relay answers, in words that change only when there is news: they are read aloud.
 */
export class Standing {
  /** @param {(wall: number) => string} clock how a person reads a moment, in milliseconds */
  constructor(clock) {
    this.clock = clock;
    this.isPaused = false;
    /** When it last answered, and since when it does not; null: never, and it does. */
    this.answeredAt = null;
    this.silentSince = null;
  }

  answered(wall) {
    this.answeredAt = wall;
    this.silentSince = null;
  }

  /** It did not answer, or not with metrics. */
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

  /** What is shown is of then. */
  get age() {
    return this.answeredAt === null ? "" : `; figures are of ${this.clock(this.answeredAt)}`;
  }
}
