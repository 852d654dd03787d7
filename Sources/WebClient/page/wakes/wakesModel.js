import { t } from "../language/language.js";
import { joinSentences } from "../text/sentences.js";
import { ago } from "../text/time.js";

const obstacles = {
  insecure: () => t("Browsers deliver them only to pages that came over https."),
  homeScreen: () =>
    t("On an iPhone or iPad, add this page to the home screen first, and open it from there."),
  unsupported: () => t("This browser cannot deliver them."),
};

const errors = {
  rejected: () => t("The push service refused the last push."),
  keyRefused: () =>
    t("The push service does not accept the relay's key. Turn it off and on again."),
  throttled: () => t("The push service asks the relay to wait."),
  unavailable: () => t("The push service does not answer the relay, which tries again."),
  notAllowed: () => t("The relay's owner does not allow this browser's push service."),
};

/**
 * Returns the switch for notifications: `isOn`, `canSwitch`, and the `text` below it.
 *
 * @param {import("./wakeSwitch.js").WakeSwitch["state"]} state
 */
export function wakesModel(state, now, minutesAhead) {
  const { obstacle, permission, isOn, wakeKey } = state;
  const canTurnOn = obstacle === null && permission !== "denied" && typeof wakeKey === "string";
  return { isOn, canSwitch: isOn || canTurnOn, text: textOf(state, now, minutesAhead) };
}

function textOf(state, now, minutesAhead) {
  const { obstacle, permission, isOn, wakeKey, wake, problem } = state;
  if (obstacle) return obstacles[obstacle]();
  if (permission === "denied") {
    return t("This browser blocks notifications of this page. Allow them in its settings for this "
      + "site.");
  }
  if (problem) return problem;
  if (wakeKey === null) return t("This relay sends none. Its owner can change that.");
  return isOn && wake !== undefined ? wakeText(wake, now, minutesAhead) : "";
}

function wakeText(wake, now, minutesAhead) {
  if (wake === null) return t("The relay does not know of it. Turn it off and on again.");
  const { state, verifiedAt, answeredAt, error } = wake;
  const proved = Math.max(verifiedAt ?? 0, answeredAt ?? 0);
  const text = state === "verified"
    ? t("Works, last proved {when}.", { when: ago(proved, now, minutesAhead) })
    : t("Waiting for the first push, which proves that they arrive.");
  return joinSentences([text, Object.hasOwn(errors, error ?? "") && errors[error]()]);
}
