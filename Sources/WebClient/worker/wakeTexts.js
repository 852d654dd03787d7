/**
 * Texts of the notifications about changes: pure functions, in `self.wakeTexts`.
 *
 * They name the app, and the timer's phase, but never what a record says: a notification is shown
 * on a locked screen, and the system keeps it. A record that cannot be read, because a device has
 * sealed it or another program wrote it, counts as a change like any other.
 *
 * Summary of changes, as JSON: `keys`, the zone, a line feed and the name of each changed record;
 * `timer`, what the timer shows, or null; `isMore`, true if there are more than `keys` has.
 *
 * The languages are those of the page (`page/language`), whose modules a classic script cannot
 * import. A table has texts and functions of `phase`, `ended` (a phase that is over), `time` and
 * `count`.
 */
self.wakeTexts = (() => {
  const nothing = Object.freeze({ keys: [], timer: null, isMore: false });
  /** Maximum number of records that a summary names. */
  const keysMax = 500;
  const phases = ["focus", "breakTime", "snooze"];

  const english = {
    phases: { focus: "focus", breakTime: "break", snooze: "snooze" },
    stopped: "Timer: stopped.", later: "later",
    over: ({ phase }) => `Timer: ${phase} is over.`,
    until: ({ phase, time }) => `Timer: ${phase} until ${time}.`,
    paused: ({ phase }) => `Timer: ${phase} paused.`,
    overUntil: ({ ended, phase, time }) => `Timer: ${ended} is over, ${phase} until ${time}.`,
    overWaits: ({ ended, phase }) => `Timer: ${ended} is over, ${phase} waits for you.`,
    zones: {
      Timer: () => "Timer changed.",
      Memos: (count) => (count === 1 ? "1 memo changed." : `${count} memos changed.`),
      Habits: () => "Habits changed.", Clipboard: () => "Clipboard changed.",
      Vault: () => "Vault changed.", Keys: () => "Devices or keys of the account changed.",
    },
    more: "More changed.", something: "Something changed.", between: " ",
    none: "All changes are here already.", arrived: "Changes arrived.",
    works: "Notifications work here.",
    failed: "Notifications could not be turned on. Open the page to try again.",
    renewed: "Notifications were renewed.", renew: "Open the page to renew notifications.",
    inLockstep: "Something changed in Lockstep.",
  };

  const chinese = {
    phases: { focus: "专注", breakTime: "休息", snooze: "推迟" },
    stopped: "计时器：已停止。", later: "稍后",
    over: ({ phase }) => `计时器：${phase}已结束。`,
    until: ({ phase, time }) => `计时器：${phase}到 ${time}。`,
    paused: ({ phase }) => `计时器：${phase}已暂停。`,
    overUntil: ({ ended, phase, time }) => `计时器：${ended}已结束，${phase}到 ${time}。`,
    overWaits: ({ ended, phase }) => `计时器：${ended}已结束，等待开始${phase}。`,
    zones: {
      Timer: () => "计时器有更改。", Memos: (count) => `${count} 条备忘录有更改。`,
      Habits: () => "习惯有更改。", Clipboard: () => "剪贴板有更改。", Vault: () => "文件有更改。",
      Keys: () => "账户的设备或密钥有更改。",
    },
    more: "还有其他更改。", something: "有内容更改。", between: "",
    none: "所有更改都已在这里。", arrived: "收到更改。",
    works: "通知可以在这里使用。", failed: "无法打开通知。请打开页面重试。",
    renewed: "通知已续期。", renew: "请打开页面以续期通知。", inLockstep: "Lockstep 中有更改。",
  };

  const japanese = {
    phases: { focus: "集中", breakTime: "休憩", snooze: "スヌーズ" },
    stopped: "タイマー：停止しました。", later: "あとで",
    over: ({ phase }) => `タイマー：${phase}が終了しました。`,
    until: ({ phase, time }) => `タイマー：${phase}中（${time} まで）。`,
    paused: ({ phase }) => `タイマー：${phase}を一時停止しました。`,
    overUntil: ({ ended, phase, time }) =>
      `タイマー：${ended}が終了し、${phase}中です（${time} まで）。`,
    overWaits: ({ ended, phase }) => `タイマー：${ended}が終了しました。${phase}を開始できます。`,
    zones: {
      Timer: () => "タイマーが変更されました。",
      Memos: (count) => `${count}件のメモが変更されました。`,
      Habits: () => "習慣が変更されました。",
      Clipboard: () => "クリップボードが変更されました。",
      Vault: () => "ファイルが変更されました。",
      Keys: () => "アカウントのデバイスまたは鍵が変更されました。",
    },
    more: "ほかにも変更があります。", something: "変更がありました。", between: "",
    none: "すべての変更はすでにここにあります。", arrived: "変更が届きました。",
    works: "このデバイスで通知を使えます。",
    failed: "通知をオンにできませんでした。ページを開いて、もう一度お試しください。",
    renewed: "通知を更新しました。", renew: "通知を更新するには、ページを開いてください。",
    inLockstep: "Lockstep で変更がありました。",
  };

  const languages = new Map([["en", english], ["zh-Hans", chinese], ["ja", japanese]]);

  /** Returns the texts of a language; in English if the page has left none, or another. */
  const textsIn = (language) => languages.get(language) ?? english;

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
    const isKnown = stateType === "idle" || phases.includes(stateType);
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
  function timerText(timer, { now, minutesAhead }, texts) {
    const { isPaused, endsAt } = timer;
    const [phase, ended] = [timer.phase, timer.endedPhase].map((it) => texts.phases[it]);
    if (timer.phase === "idle") return ended ? texts.over({ phase: ended }) : texts.stopped;
    if (!isPaused && endsAt <= now) return texts.over({ phase });
    if (isPaused) return ended ? texts.overWaits({ ended, phase }) : texts.paused({ phase });
    const time = clockTime(endsAt, minutesAhead(endsAt)) ?? texts.later;
    return ended ? texts.overUntil({ ended, phase, time }) : texts.until({ phase, time });
  }

  /** Returns null for an instant without a date. */
  function clockTime(instant, minutesAhead) {
    const time = new Date(instant + minutesAhead * 60_000);
    return Number.isNaN(time.getTime()) ? null : time.toISOString().slice(11, 16);
  }

  /** Views of the page for the zones whose view has another name; the vault has none. */
  const views = { Vault: "", Keys: "devices" };

  /** Returns the text of a summary, and the page's view that shows its first change, or "".
   *
   * @param {object} [texts] of a language, as `textsIn` has them */
  function told(summary, clock, texts = english) {
    const counts = new Map();
    for (const key of summary.keys) {
      const zone = key.slice(0, key.indexOf("\n"));
      counts.set(zone, (counts.get(zone) ?? 0) + 1);
    }
    const zones = Object.keys(texts.zones).filter((zone) => counts.has(zone));
    const parts = zones.map((zone) => (zone === "Timer" && summary.timer
      ? timerText(summary.timer, clock, texts) : texts.zones[zone](counts.get(zone))));
    const hasOthers = summary.isMore || counts.size > zones.length;
    if (hasOthers) parts.push(parts.length > 0 ? texts.more : texts.something);
    const [first = "Vault"] = zones;
    const view = views[first] ?? first.toLowerCase();
    return { text: parts.join(texts.between) || texts.none, view };
  }

  return Object.freeze({ nothing, added, told, textsIn });
})();
