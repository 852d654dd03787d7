import { member, setting } from "../../json/jsonValue.js";
import { MergeRules } from "../../model/mergeRules.js";
import { isDeleted } from "../../model/resolver.js";
import { EditRefusal } from "../edit.js";
import { focusAddition, focusDayType } from "./focusDay.js";
import { timerResolver } from "./timerResolver.js";
import { afterZero, handle, timerEvents } from "./timerMachine.js";
import { TimerState } from "./timerModel.js";
import { settingChanges, TimerSettings } from "./timerSettings.js";
import { soundChanges, TimerSound } from "./timerSound.js";

const zone = "Timer";
const stateType = "TimerState";
const settingsType = "Settings";

/** Delay before a connected device makes the edit at zero of another device's countdown. */
const graceMilliseconds = 2_000;

/**
 * Pomodoro timer: zone `Timer`, the record `current` with the timer's state, the record `settings`
 * with the lengths of its phases and the sound at their ends, and a record for each day with its
 * completed focuses (`focusDay.js`). Actions:
 *
 *     {do: "start", length?} · {do: "pause"} · {do: "resume"} · {do: "stop"} · {do: "skip"} ·
 *     {do: "snooze", length?} · {do: "set", settings: {name: value}} ·
 *     {do: "setSound", sound?, volume?}
 */
export const timerApp = Object.freeze({
  name: "timer",
  zone,
  isOwn: true,
  types: Object.freeze([settingsType, stateType, focusDayType]),
  /** Record types for which `dueEdit` may return an edit. */
  timedTypes: Object.freeze([stateType]),

  resolvers: Object.freeze({ [stateType]: timerResolver }),

  /** Settings are merged field by field, and the focuses of a day are united. */
  rules: Object.freeze({
    [settingsType]: MergeRules.of({ fields: { "*": "newest" } }),
    [focusDayType]: MergeRules.of({ fields: { focuses: "greatestEach" } }),
  }),

  /**
   * Returns the edit that the app makes without a person when relay time reaches `dueAt`, the end
   * of a countdown; null if the record has no such edit. The edit depends only on the record, so
   * every device makes the same one. The owner makes it first; the others wait `graceMilliseconds`
   * while they are connected. `addition`: member of an object in another record, which the edit
   * adds if it is missing.
   */
  dueEdit(record) {
    if (record.name !== "current" || record.type !== stateType || isDeleted(record)) return null;
    const state = TimerState.of(record.fields);
    const next = afterZero(state);
    if (!next) return null;
    const addition = focusAddition(state);
    return {
      dueAt: Number(state.shown.zeroAt), owner: state.shown.deviceID, graceMilliseconds,
      fields: next.fields, ...(addition ? { addition } : {}),
    };
  },

  /**
   * Returns the fields of a local change after its stamp was moved from `from` to `to` before
   * sending, because the device's clock was wrong. Moves the timestamps of the edits that the
   * change added. The edit at zero of a countdown in the base stays: its timestamp follows from the
   * record, not from this device's clock.
   */
  restamped(fields, { type, base, from, to }) {
    if (type !== stateType) return fields;
    const baseState = TimerState.of(base);
    const known = new Set(baseState.edits.map((edit) => edit.identity));
    // An earlier version of the app wrote the edits that follow from the record without `act`.
    for (let it = afterZero(baseState); it; it = afterZero(it)) known.add(it.shown.plainIdentity);
    const state = TimerState.of(fields);
    const edits = state.edits.map((edit) =>
      known.has(edit.identity) ? edit : edit.moved(BigInt(to) - BigInt(from)));
    return state.with({ edits }).fields;
  },

  outcome(state, action) {
    const step = member(action, "do");
    if (step === "set") return { edits: [set(settingChanges(member(action, "settings")))] };
    if (step === "setSound") return { edits: [set(soundChanges(action))] };
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

/** Keeps fields that no change names. */
const set = (changes) => ({
  zone, name: "settings", type: settingsType,
  make: ({ current }) => setting(current?.fields, changes),
});

/** State of the timer, from the records that the device holds. */
export const timerOf = (state) => TimerState.of(live(state, "current")?.fields);

export const settingsOf = (state) => new TimerSettings(live(state, "settings")?.fields);

export const soundOf = (state) => new TimerSound(live(state, "settings")?.fields);

const live = (state, name) =>
  state.records.find((it) =>
    it.name === name && (it.zone ?? zone) === zone && !isDeleted(it));
