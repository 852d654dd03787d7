import { member, setting } from "../../changes/json.js";
import { isDeleted } from "../../changes/resolver.js";
import { EditRefusal } from "../editRefusal.js";
import { settingsResolver } from "./settingsResolver.js";
import { afterZero, handle, timerEvents } from "./timerMachine.js";
import { TimerState } from "./timerModel.js";
import { timerResolver } from "./timerResolver.js";
import { TimerSettings, settingChanges } from "./timerSettings.js";

const zone = "Timer";
const stateType = "TimerState";
const settingsType = "Settings";

/** How long connected devices leave an edit at zero to the device whose edit ran out. */
const graceMilliseconds = 2_000;

/**
 * The pomodoro timer: zone `Timer`, the record `current` with what the timer does, the record
 * `settings` with how long its phases are. What a person does:
 *
 *     {do: "start", length?} · {do: "pause"} · {do: "resume"} · {do: "stop"} · {do: "skip"} ·
 *     {do: "snooze", length?} · {do: "set", settings: {name: value}}
 */
export const timerApp = Object.freeze({
  name: "timer",
  zone,
  types: Object.freeze([settingsType, stateType]),
  /** The record types for which `dueEdit` may give something. */
  timedTypes: Object.freeze([stateType]),

  resolvers: Object.freeze({ [settingsType]: settingsResolver, [stateType]: timerResolver }),

  /**
   * The edit that the app makes by itself when relay time reaches `dueAt`: a countdown that ends.
   * It follows from the record alone, so every device makes the same one; the owner makes it first,
   * and the others wait `graceMilliseconds` while they are connected. null where the record waits
   * for nothing.
   */
  dueEdit(record) {
    if (record.name !== "current" || record.type !== stateType || isDeleted(record)) return null;
    const state = TimerState.of(record.fields);
    const next = afterZero(state);
    if (!next) return null;
    return {
      dueAt: Number(state.shown.zeroAt), owner: state.shown.deviceID, graceMilliseconds,
      fields: next.fields,
    };
  },

  /**
   * The fields of a local change whose stamp proved wrong (the device's clock was off) and was
   * moved from `from` to `to` before it was sent: the timestamps of the edits that the change
   * brought move along. An edit at zero of a countdown that the base holds stays: its instant
   * follows from the record, and no clock of this device had a part in it.
   */
  restamped(fields, { type, base, from, to }) {
    if (type !== stateType) return fields;
    const stood = TimerState.of(base);
    const known = new Set(stood.edits.map((edit) => edit.identity));
    // An earlier version of the app wrote what follows from the record without `act`.
    for (let it = afterZero(stood); it; it = afterZero(it)) known.add(it.shown.plainIdentity);
    const state = TimerState.of(fields);
    const edits = state.edits.map((edit) =>
      known.has(edit.identity) ? edit : edit.moved(BigInt(to) - BigInt(from)));
    return state.with({ edits }).fields;
  },

  outcome(state, action) {
    const step = member(action, "do");
    if (step === "set") return { edits: [set(settingChanges(member(action, "settings")))] };
    if (!timerEvents.includes(step)) throw new EditRefusal("the timer does not know that order");
    const settings = settingsOf(state);
    return {
      edits: [{
        zone, name: "current", type: stateType,
        make: ({ current, stamp, device }) =>
          handle(TimerState.of(current?.fields), action, {
            settings, deviceID: device, now: BigInt(stamp),
          }).fields,
      }],
    };
  },
});

/** Fields that nobody names stay. */
const set = (changes) => ({
  zone, name: "settings", type: settingsType,
  make: ({ current }) => setting(current?.fields, changes),
});

/** What the timer does, by the records that the device holds. */
export const timerOf = (state) => TimerState.of(live(state, "current")?.fields);

export const settingsOf = (state) => new TimerSettings(live(state, "settings")?.fields);

const live = (state, name) =>
  state.records.find((it) =>
    it.name === name && (it.zone ?? zone) === zone && !isDeleted(it));
