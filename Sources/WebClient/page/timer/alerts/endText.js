const ended = { focus: "Focus is over", snooze: "Snooze is over", breakTime: "Break is over" };

/** Returns the sentence about an end of `timerEnd`, for a notice and for a notification. */
export function endText({ phase, next, isPaused }) {
  const first = ended[phase] ?? "The time is up";
  if (next !== "breakTime") return `${first}.`;
  return isPaused ? `${first}. The break waits for you.` : `${first}. Time for a break.`;
}
