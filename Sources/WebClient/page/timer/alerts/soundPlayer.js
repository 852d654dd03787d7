import { limits } from "../../limits.js";

/** Seconds in which a note rises, and in which a sound that is ended falls: a jump would click. */
const edgeSeconds = 0.01;
/** Gain at which a note counts as silent; an exponential ramp cannot reach 0. */
const silent = 0.0001;

/**
 * Plays notes with Web Audio. Browsers let a page sound only after a person has pressed something
 * in it, so the context is made by `unlock`. Between sounds it is suspended and costs nothing.
 */
export class SoundPlayer {
  #browser;
  #context = null;
  /** True once the browser has let the context run. */
  #isUnlocked = false;
  /** Gain of the sound that plays; null if none does. */
  #master = null;

  /** @param {{openAudio: () => AudioContext | null, setTimer: Function}} browser `openAudio`
   *   returns null where there is no Web Audio */
  constructor(browser) { this.#browser = browser; }

  /** True if a sound would be heard. */
  get isUnlocked() { return this.#isUnlocked; }

  /** Call it in the handler of a press of a button or key. Nothing is heard; the browser notes that
   * a person has allowed it. */
  async unlock() {
    if (this.#isUnlocked) return;
    this.#context ??= this.#browser.openAudio();
    await this.#resume();
    this.#isUnlocked = this.#context?.state === "running";
    this.#rest();
  }

  /** Plays the notes in place of what plays. Resolves with false if the browser does not let the
   * page sound. */
  async play(notes) {
    this.stop();
    const context = this.#context;
    if (context === null || notes.length === 0) return false;
    const master = context.createGain();
    this.#master = master;
    await this.#resume();
    if (this.#master !== master) return false;
    if (context.state !== "running") {
      this.#master = null;
      return false;
    }
    this.#isUnlocked = true;
    master.connect(context.destination);
    const begin = context.currentTime + edgeSeconds;
    const tones = notes.map((note) => tone(context, master, begin, note));
    const last = tones.reduce((one, other) => (other.end > one.end ? other : one));
    last.oscillator.onended = () => {
      if (this.#master === master) this.#master = null;
      this.#rest();
    };
    return true;
  }

  /** Ends the sound that plays. */
  stop() {
    this.#master?.gain.setTargetAtTime(0, this.#context.currentTime, edgeSeconds);
    this.#master = null;
  }

  /** Resolves once the context runs, or after a limit: some browsers answer only after the next
   * press. */
  #resume() {
    const context = this.#context;
    if (context === null || context.state === "running") return Promise.resolve();
    const limit = new Promise((resolve) =>
      this.#browser.setTimer(resolve, limits.audioMilliseconds));
    return Promise.race([context.resume().catch(() => {}), limit]);
  }

  /** Suspends the context, unless another sound plays. */
  #rest() {
    if (this.#master === null) this.#context?.suspend().catch(() => {});
  }
}

/** Adds one note: it rises at once, and fades away. */
function tone(context, master, begin, { at, hertz, gain, seconds }) {
  const oscillator = context.createOscillator();
  const envelope = context.createGain();
  const [start, end] = [begin + at, begin + at + seconds];
  oscillator.frequency.value = hertz;
  envelope.gain.setValueAtTime(silent, start);
  envelope.gain.linearRampToValueAtTime(gain, start + edgeSeconds);
  envelope.gain.exponentialRampToValueAtTime(silent, end);
  oscillator.connect(envelope).connect(master);
  oscillator.start(start);
  oscillator.stop(end);
  return { oscillator, end };
}
