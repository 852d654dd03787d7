import { bool, integer, isObject, member, serialize, setting, text } from "../../json/jsonValue.js";
import { limits } from "../limits.js";
import { compareText } from "../../json/utf8.js";
import { wholeNumber } from "../../model/mergeParts.js";

/**
 * Phases of the timer.
 *
 * - `idle`: nothing runs. Next: focus (start).
 * - `focus`: working time. Next: focus (pause, resume), breakTime (skip, zero), idle (stop).
 * - `breakTime`: break. Next: breakTime (pause, resume), snooze (snooze), focus (start), idle
 *   (skip, stop, zero).
 * - `snooze`: postponed break. Next: snooze (pause, resume, snooze), breakTime (skip, zero), focus
 *   (start), idle (stop).
 */
const phases = ["idle", "focus", "breakTime", "snooze"];

/**
 * Fields of the record `current`: the number of completed pomodoros, and the candidate edits for
 * the screen. The screen shows `edits[0]`; there is more than one edit only after a conflict.
 * Unknown fields are kept.
 *
 * Instants and lengths are BigInts in milliseconds: the resolver must return the same result as a
 * device that counts in 64 bits.
 */
export class TimerState {
  /**
   * @param {object} record the record's fields; members other than the two are kept
   * @param {bigint} completedPomodoros
   * @param {readonly TimerEdit[]} edits
   */
  constructor(record, completedPomodoros, edits) {
    this.record = record;
    this.completedPomodoros = completedPomodoros;
    this.edits = edits;
  }

  /**
   * Decodes a record's fields. null, undefined, and missing or malformed fields read as a timer
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

  /** Returns the same record with other edits, or another count. */
  with({ edits = this.edits, completedPomodoros = this.completedPomodoros }) {
    return new TimerState(this.record, completedPomodoros, edits);
  }

  get fields() {
    return setting(this.record, {
      completedPomodoros: integer(this.completedPomodoros),
      edits: this.edits.map((edit) => edit.object),
    });
  }

  /** Edit that the screen shows; undefined if the timer was never started. */
  get shown() { return this.edits[0]; }
}

/** If an act is older than the newest by more than this many milliseconds, it is not concurrent:
 * the newer one wins. */
export const concurrencyMilliseconds = 5_000n;

const actName = (deviceID, timestamp) => `${timestamp} ${deviceID}`;

const actMembers = ["timestamp", "stateType", "remaining", "isPaused"];

/** 1970 to 2248 (2⁴³ milliseconds): in nanoseconds these instants still fit into 64 bits. */
const instants = { first: 0n, end: 1n << 43n };

/**
 * One edit of the timer, made by a person or by the end of a countdown.
 *
 * Every edit has `deviceID`, `timestamp` (relay time, milliseconds), `stateType`, `isPaused` and
 * `remaining` (milliseconds left as of `timestamp`). Lockstep's edits also have `duration`, the
 * phase's full length in milliseconds; focus and snooze have `plan`, the phase that follows at zero
 * (see `TimerPlan`). Other members are kept unchanged.
 *
 * An edit that a person made within seconds of another has `replaces`, the acts that the person saw
 * and ended with it: `[{"deviceID","timestamp"}]`. They never stand beside it again, even if a
 * device no longer knows on which version the edit was made, as after a relay's restore.
 *
 * An edit made by time (its countdown ran out) is not an act of a person. It continues the act at
 * the head of its chain and names it: `"act": {"timestamp","stateType","remaining","isPaused"}`,
 * the values of the person's edit; the device is that of the person's edit too. Identity and age
 * are those of the act, so a countdown that ran out on an offline device does not count as newer
 * than what a person did on another device.
 */
export class TimerEdit {
  /**
   * @param {object} object the edit as written in the record. Missing members read as: no device,
   *   time 0, no time left, not paused.
   */
  constructor(object) {
    const remaining = wholeNumber(member(object, "remaining")) ?? 0n;
    this.object = object;
    this.deviceID = text(object, "deviceID") ?? "";
    this.timestamp = wholeNumber(member(object, "timestamp")) ?? 0n;
    /** As written: a later version of the app may have phases that `phases` lacks. */
    this.stateType = text(object, "stateType") ?? "";
    this.isPaused = bool(object, "isPaused") ?? false;
    this.remaining = remaining > 0n ? remaining : 0n;
  }

  /** Returns the first edit of a phase that begins at `timestamp` with its full length. */
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

  /** Returns a new act: the same phase with the same plan, paused or running. */
  continued({ isPaused, remaining, timestamp, deviceID }) {
    return new TimerEdit(setting(this.object, {
      deviceID, timestamp: integer(timestamp), isPaused, remaining: integer(remaining),
      act: undefined,
    }));
  }

  /** Returns the same edit, with its own timestamp and its act's timestamp moved. */
  moved(milliseconds) {
    const { isPaused, remaining, timestamp, deviceID } = this;
    const edit = this.continued({
      isPaused, remaining, timestamp: timestamp + milliseconds, deviceID,
    });
    if (!this.isMadeByTime) return edit;
    return edit.withAct(
      setting(this.act, { timestamp: integer(this.actTimestamp + milliseconds) }));
  }

  /** Returns the same edit, marked as made by time from an act. */
  withAct(act) { return new TimerEdit(setting(this.object, { act })); }

  /** True if a countdown ran out. Edits of programs that do not know `act` count as acts. */
  get isMadeByTime() { return isObject(member(this.object, "act")); }

  /** The person's act that this edit is, or continues, in the form of the `act` member. */
  get act() {
    if (this.isMadeByTime) return member(this.object, "act");
    return setting({}, Object.fromEntries(
      actMembers.map((name) => [name, member(this.object, name)])));
  }

  /** Device and relay time of the act, as text. */
  get actName() { return actName(this.deviceID, this.actTimestamp); }

  /** Names of the acts that this edit's act replaced. An act cannot replace a later one. */
  get replacedActs() { return this.#replaced.map(({ name }) => name); }

  get #replaced() {
    const listed = member(this.object, "replaces");
    if (!Array.isArray(listed)) return [];
    return listed.slice(0, limits.replacedActs)
      .map((value) => ({
        deviceID: text(value, "deviceID"), timestamp: wholeNumber(member(value, "timestamp")),
      }))
      .filter(({ deviceID, timestamp }) =>
        deviceID !== undefined && timestamp !== undefined && timestamp < this.actTimestamp)
      .map((act) => ({ ...act, name: actName(act.deviceID, act.timestamp) }));
  }

  /**
   * Returns the same edit, which replaces `edits` and what they replaced. Names only acts that the
   * resolver could count as concurrent with it; most edits name none.
   *
   * @param {readonly TimerEdit[]} edits
   */
  replacing(edits) {
    const seen = new Set();
    const acts = edits
      .flatMap((edit) => [
        { deviceID: edit.deviceID, timestamp: edit.actTimestamp, name: edit.actName },
        ...edit.#replaced,
      ])
      .filter(({ timestamp, name }) => {
        const isConcurrent = timestamp < this.actTimestamp
          && this.actTimestamp - timestamp <= concurrencyMilliseconds && !seen.has(name);
        if (isConcurrent) seen.add(name);
        return isConcurrent;
      })
      .sort((one, other) => Number(other.timestamp - one.timestamp))
      .slice(0, limits.replacedActs)
      .map(({ deviceID, timestamp }) => ({ deviceID, timestamp: integer(timestamp) }));
    return this.#withReplaced(acts.length === 0 ? undefined : acts);
  }

  /** Returns the same edit, which replaces the acts that `edit` replaced. */
  replacingLikewise(edit) { return this.#withReplaced(member(edit.object, "replaces")); }

  #withReplaced(replaces) { return new TimerEdit(setting(this.object, { replaces })); }

  /** Relay time of the act, milliseconds. It is the edit's age. @returns {bigint} */
  get actTimestamp() {
    return this.isMadeByTime ? wholeNumber(member(this.act, "timestamp")) ?? 0n : this.timestamp;
  }

  /** undefined for a state that this version of the app does not know. */
  get phase() { return phases.find((phase) => phase === this.stateType); }

  /**
   * Milliseconds left at an instant of relay time. A running countdown decreases to 0, a paused one
   * keeps its value, idle has 0.
   */
  remainingAt(instant) {
    if (this.phase === "idle") return 0n;
    const passed = instant > this.timestamp ? instant - this.timestamp : 0n;
    if (this.isPaused) return this.remaining;
    return this.remaining > passed ? this.remaining - passed : 0n;
  }

  /**
   * Instant at which the countdown reaches zero; undefined if none runs, if the edit lacks the
   * times, or if the instant is out of range.
   *
   * @returns {bigint | undefined}
   */
  get zeroAt() {
    const { phase, object } = this;
    const isRunning = phase !== undefined && phase !== "idle" && !this.isPaused;
    const hasTimes = ["timestamp", "remaining"].every(
      (name) => wholeNumber(member(object, name)) !== undefined);
    if (!isRunning || !hasTimes) return undefined;
    const instant = this.timestamp + this.remaining;
    return instant >= instants.first && instant < instants.end ? instant : undefined;
  }

  /** Full length of the phase in milliseconds; undefined if the edit does not have it. */
  get duration() { return wholeNumber(member(this.object, "duration")); }

  /**
   * Identity of acts, and so of edits: each edit belongs to one act. It consists of the device and
   * the act's members, compared as JSON, as written.
   */
  get identity() { return this.#identity(this.act); }

  /** Identity of the same edit if a program that does not know `act` wrote it. */
  get plainIdentity() { return this.#identity(this.object); }

  #identity(act) {
    const values = [
      member(this.object, "deviceID"), ...actMembers.map((name) => member(act, name)),
    ];
    return values.map((value) => (value === undefined ? "" : serialize(value))).join("\n");
  }
}

/**
 * Returns the version of one act to keep: the one with the greater timestamp, and at equal
 * timestamps the one with the greater JSON text.
 *
 * @param {TimerEdit} edit
 * @param {TimerEdit} other
 */
export function further(edit, other) {
  if (edit.timestamp !== other.timestamp) return edit.timestamp > other.timestamp ? edit : other;
  return compareText(serialize(edit.object), serialize(other.object)) < 0 ? other : edit;
}
