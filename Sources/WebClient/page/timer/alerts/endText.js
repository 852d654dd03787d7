import { t } from "../../language/language.js";

/** Texts about the end of each phase: alone, and with the break that begins or waits. */
const endTexts = {
  focus: {
    isOver: () => t("Focus is over."),
    breakBegins: () => t("Focus is over. Time for a break."),
    breakWaits: () => t("Focus is over. The break waits for you."),
  },
  snooze: {
    isOver: () => t("Snooze is over."),
    breakBegins: () => t("Snooze is over. Time for a break."),
    breakWaits: () => t("Snooze is over. The break waits for you."),
  },
};

/** Returns the sentence about an end of `timerEnd`, for a notice and for a notification. */
export function endText({ phase, next, isPaused }) {
  if (phase === "breakTime") return t("Break is over.");
  const texts = Object.hasOwn(endTexts, phase) ? endTexts[phase] : null;
  if (texts === null) return t("The time is up.");
  if (next !== "breakTime") return texts.isOver();
  return isPaused ? texts.breakWaits() : texts.breakBegins();
}
