/**
 * Texts of the notifications about changes: pure functions, in `self.wakeTexts`.
 *
 * They name the app, and the timer's phase, but never what a record says: a notification is shown
 * on a locked screen, and the system keeps it. A record that cannot be read, because a device has
 * sealed it or another program wrote it, counts as a change like any other.
 *
 * Summary of changes, as JSON: `keys`, the zone, a line feed and the name of each changed record;
 * `timer`, what the timer shows, or null; `isMore`, true if there are more than `keys` has.
 */
self.wakeTexts = (() => {
  const nothing = Object.freeze({ keys: [], timer: null, isMore: false });
  /** Maximum number of records that a summary names. */
  const keysMax = 500;
  const phases = { focus: "focus", breakTime: "break", snooze: "snooze" };

  /** Returns the summary with further changes, the newest last. What this device itself has changed
   * is no news. */
  function added(summary, records, ownDevice) {
    const keys = new Set(summary.keys);
    let { timer, isMore } = summary;
    for (const { zone, name, fields, device } of records) {
      const key = `${zone}\n${name}`;
      const isOwn = device === ownDevice;
      if (isOwn) keys.delete(key);
      else if (keys.has(key) || keys.size < keysMax) keys.add(key);
      else isMore = true;
      if (key === "Timer\ncurrent") timer = isOwn ? null : timerOf(fields);
    }
    return { keys: [...keys], timer, isMore };
  }

  /** Returns what the timer shows: `phase`, `isPaused`, `endsAt` (relay time) and `endedPhase`, the
   * phase whose end began this one; null if the record does not say it. */
  function timerOf(fields) {
    const [edit] = Array.isArray(fields?.edits) ? fields.edits : [];
    const { stateType, isPaused = false, timestamp, remaining, act } = edit ?? {};
    const isKnown = stateType === "idle" || Object.hasOwn(phases, stateType ?? "");
    if (!isKnown || !Number.isSafeInteger(timestamp) || !Number.isSafeInteger(remaining)) {
      return null;
    }
    return { phase: stateType, isPaused: isPaused === true, endsAt: timestamp + remaining,
      endedPhase: act ? phaseBefore(stateType, act) : null };
  }

  /** Returns the phase that ended by time. `act`: the person's act before it, since which at most a
   * focus or a snooze, and then a break, have ended. */
  function phaseBefore(phase, act) {
    if (phase === "idle") return "breakTime";
    if (phase !== "breakTime") return null;
    return act.stateType === "snooze" ? "snooze" : "focus";
  }

  /** @param {{now: number, minutesAhead: (instant: number) => number}} clock relay time, and the
   *   person's offset from UTC */
  function timerText(timer, { now, minutesAhead }) {
    const { phase, isPaused, endsAt, endedPhase } = timer;
    const ended = endedPhase && `${phases[endedPhase]} is over`;
    if (phase === "idle") return `Timer: ${ended ?? "stopped"}.`;
    if (!isPaused && endsAt <= now) return `Timer: ${phases[phase]} is over.`;
    const next = isPaused ? `${phases[phase]} ${ended ? "waits for you" : "paused"}`
      : `${phases[phase]} until ${clockTime(endsAt, minutesAhead(endsAt))}`;
    return `Timer: ${ended ? `${ended}, ` : ""}${next}.`;
  }

  function clockTime(instant, minutesAhead) {
    const time = new Date(instant + minutesAhead * 60_000);
    return Number.isNaN(time.getTime()) ? "later" : time.toISOString().slice(11, 16);
  }

  const texts = {
    Timer: (count, { timer }, clock) => (timer ? timerText(timer, clock) : "Timer changed."),
    Memos: (count) => `${count === 1 ? "1 memo" : `${count} memos`} changed.`,
    Habits: () => "Habits changed.",
    Clipboard: () => "Clipboard changed.",
    Vault: () => "Vault changed.",
    Keys: () => "Devices or keys of the account changed.",
  };
  /** Views of the page for the zones whose view has another name; the vault has none. */
  const views = { Vault: "", Keys: "devices" };

  /** Returns the text of a summary, and the page's view that shows its first change, or "". */
  function told(summary, clock) {
    const counts = new Map();
    for (const key of summary.keys) {
      const zone = key.slice(0, key.indexOf("\n"));
      counts.set(zone, (counts.get(zone) ?? 0) + 1);
    }
    const zones = Object.keys(texts).filter((zone) => counts.has(zone));
    const parts = zones.map((zone) => texts[zone](counts.get(zone), summary, clock));
    const hasOthers = summary.isMore || counts.size > zones.length;
    if (hasOthers) parts.push(parts.length > 0 ? "More changed." : "Something changed.");
    const [first = "Vault"] = zones;
    const view = views[first] ?? first.toLowerCase();
    return { text: parts.join(" ") || "All changes are here already.", view };
  }

  return Object.freeze({ nothing, added, told });
})();
