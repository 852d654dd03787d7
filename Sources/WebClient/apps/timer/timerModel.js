import { bool, integer, isObject, member, serialize, setting, text } from "../../changes/json.js";
import { compareText } from "../../changes/utf8.js";
import { wholeNumber } from "../merge/wholeNumber.js";

/**
 * What the timer is doing.
 *
 * - `idle`: nothing runs. Next: focus (start).
 * - `focus`: a person works. Next: focus (pause, resume), breakTime (skip, zero), idle (stop).
 * - `breakTime`: a person rests. Next: breakTime (pause, resume), snooze (snooze), focus (start),
 *   idle (skip, stop, zero).
 * - `snooze`: the break waits. Next: snooze (pause, resume, snooze), breakTime (skip, zero), focus
 *   (start), idle (stop).
 */
const phases = ["idle", "focus", "breakTime", "snooze"];

/**
 * The fields of the record `current`: how many pomodoros are done, and the edits that are
 * candidates for the screen. `edits[0]` is what the screen shows; more than one stands there only
 * after a conflict. Fields that nobody here knows are kept.
 *
 * Instants and lengths are BigInts here, and milliseconds: the resolver must give what a device
 * that counts in 64 bits gives.
 */
export class TimerState {
  /**
   * @param {object} record the record's fields, of which what stands beside the two is kept
   * @param {bigint} completedPomodoros
   * @param {readonly TimerEdit[]} edits
   */
  constructor(record, completedPomodoros, edits) {
    this.record = record;
    this.completedPomodoros = completedPomodoros;
    this.edits = edits;
  }

  /**
   * From a record's fields; null, undefined, and whatever is missing or malformed, reads as a timer
   * that was never started.
   */
  static of(fields) {
    const edits = member(fields, "edits");
    return new TimerState(
      isObject(fields) ? fields : {},
      wholeNumber(member(fields, "completedPomodoros")) ?? 0n,
      Array.isArray(edits) ? edits.filter(isObject).map((object) => new TimerEdit(object)) : [],
    );
  }

  /** The same record with other edits, or another count. */
  with({ edits = this.edits, completedPomodoros = this.completedPomodoros }) {
    return new TimerState(this.record, completedPomodoros, edits);
  }

  get fields() {
    return setting(this.record, {
      completedPomodoros: integer(this.completedPomodoros),
      edits: this.edits.map((edit) => edit.object),
    });
  }

  /** What the screen shows; undefined while nothing was ever started. */
  get shown() { return this.edits[0]; }
}

/** Beyond this many milliseconds an act is not concurrent with a newer one: the newer wins. */
export const concurrencyMilliseconds = 5_000n;

const actMembers = ["timestamp", "stateType", "remaining", "isPaused"];

/** From 1970 to 2248 (2⁴³ milliseconds): in nanoseconds they still fit into 64 bits. */
const instants = { first: 0n, end: 1n << 43n };

/**
 * One edit of the timer: what a person or the end of a countdown made of it.
 *
 * Every edit has `deviceID`, `timestamp` (relay time, milliseconds), `stateType`, `isPaused` and
 * `remaining` (milliseconds left as of `timestamp`). Ours have besides `duration`, the phase's full
 * length in milliseconds, and focus and snooze have `plan`, what follows at zero (see `TimerPlan`).
 * Other members travel with the edit untouched.
 *
 * An edit that time made (its countdown ran out) is no act of a person. It is the act at the head
 * of its chain, further along, and says so: `"act": {"timestamp","stateType","remaining",
 * "isPaused"}`, those of the person's edit, whose device it has as well. Identity and age are those
 * of the act, so that a countdown that ran out on a device that was away does not count as newer
 * than what a person did elsewhere.
 */
export class TimerEdit {
  /**
   * @param {object} object the edit as it stands in the record. What it lacks reads as nothing: no
   *   device, the beginning of time, no time left, not paused.
   */
  constructor(object) {
    const remaining = wholeNumber(member(object, "remaining")) ?? 0n;
    this.object = object;
    this.deviceID = text(object, "deviceID") ?? "";
    this.timestamp = wholeNumber(member(object, "timestamp")) ?? 0n;
    /** As it was written: a later version of the app may know more than `phases`. */
    this.stateType = text(object, "stateType") ?? "";
    this.isPaused = bool(object, "isPaused") ?? false;
    this.remaining = remaining > 0n ? remaining : 0n;
  }

  /** A phase that begins at `timestamp` with its full length before it. */
  static beginning(phase, { length, isPaused = false, plan, timestamp, deviceID }) {
    return new TimerEdit(setting({}, {
      deviceID,
      timestamp: integer(timestamp),
      stateType: phase,
      isPaused,
      remaining: integer(length),
      duration: phase === "idle" ? undefined : integer(length),
      plan: plan?.object,
    }));
  }

  /** The same phase with the same plan, halted or running on from here: an act of its own. */
  continued({ isPaused, remaining, timestamp, deviceID }) {
    return new TimerEdit(setting(this.object, {
      deviceID, timestamp: integer(timestamp), isPaused, remaining: integer(remaining),
      act: undefined,
    }));
  }

  /** The same edit at another instant, its act with it. */
  moved(milliseconds) {
    const { isPaused, remaining, timestamp, deviceID } = this;
    const edit = this.continued({
      isPaused, remaining, timestamp: timestamp + milliseconds, deviceID,
    });
    if (!this.isMadeByTime) return edit;
    return edit.withAct(
      setting(this.act, { timestamp: integer(this.actTimestamp + milliseconds) }));
  }

  /** The same edit, made by time out of an act. */
  withAct(act) { return new TimerEdit(setting(this.object, { act })); }

  /** A countdown ran out. Edits of programs that do not know `act` count as acts. */
  get isMadeByTime() { return isObject(member(this.object, "act")); }

  /**
   * The person's act that this edit is, or goes on from, as it is written in an edit that time
   * makes.
   */
  get act() {
    if (this.isMadeByTime) return member(this.object, "act");
    return setting({}, Object.fromEntries(
      actMembers.map((name) => [name, member(this.object, name)])));
  }

  /** Relay time of the act, milliseconds: the edit's age. @returns {bigint} */
  get actTimestamp() {
    return this.isMadeByTime ? wholeNumber(member(this.act, "timestamp")) ?? 0n : this.timestamp;
  }

  /** undefined for a state of which this version of the app knows nothing. */
  get phase() { return phases.find((phase) => phase === this.stateType); }

  /**
   * Milliseconds left at an instant of relay time: a running countdown goes down to 0, a paused one
   * stands still, idle has none.
   */
  remainingAt(instant) {
    if (this.phase === "idle") return 0n;
    const passed = instant > this.timestamp ? instant - this.timestamp : 0n;
    if (this.isPaused) return this.remaining;
    return this.remaining > passed ? this.remaining - passed : 0n;
  }

  /**
   * When the countdown reaches zero; undefined where none runs, where the edit does not say, and
   * where it says an instant that no clock will show.
   *
   * @returns {bigint | undefined}
   */
  get zeroAt() {
    const { phase, object } = this;
    const isRunning = phase !== undefined && phase !== "idle" && !this.isPaused;
    const isSaid = ["timestamp", "remaining"].every(
      (name) => wholeNumber(member(object, name)) !== undefined);
    if (!isRunning || !isSaid) return undefined;
    const instant = this.timestamp + this.remaining;
    return instant >= instants.first && instant < instants.end ? instant : undefined;
  }

  /** The phase's full length in milliseconds, where the edit says it. */
  get duration() { return wholeNumber(member(this.object, "duration")); }

  /**
   * Tells acts apart, and so edits, of which each goes back to one: the device and the act's
   * members, compared as JSON, as they were written.
   */
  get identity() { return this.#identity(this.act); }

  /** The identity by which programs that do not know `act` have written the same edit. */
  get plainIdentity() { return this.#identity(this.object); }

  #identity(act) {
    const values = [
      member(this.object, "deviceID"), ...actMembers.map((name) => member(act, name)),
    ];
    return values.map((value) => (value === undefined ? "" : serialize(value))).join("\n");
  }
}

/**
 * Of two versions of one act, the one that stands: the further along, the one with the greater
 * timestamp, and at one instant the one with the greater JSON text.
 *
 * @param {TimerEdit} edit
 * @param {TimerEdit} other
 */
export function further(edit, other) {
  if (edit.timestamp !== other.timestamp) return edit.timestamp > other.timestamp ? edit : other;
  return compareText(serialize(edit.object), serialize(other.object)) < 0 ? other : edit;
}
