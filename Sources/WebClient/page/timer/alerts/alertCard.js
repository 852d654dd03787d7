import { soundOf, timerApp } from "../../../apps/timer/timerApp.js";
import { element, setText, show } from "../../components/element.js";
import { t } from "../../language/language.js";
import { limits } from "../../limits.js";
import { errorText } from "../../text/errorText.js";
import { soundNames } from "./sounds.js";

/** Card with the sound at the end of a countdown, which is the same on all devices, and with what
 * this browser does then. */
export class AlertCard {
  #controller;
  #alerts;
  #notify;
  #sounds = new Map();
  #volume = element("input", { type: "range", min: 0, max: 100, step: 5, id: "timer-volume",
    on: { input: () => this.#moveVolume() } });
  /** Timer of the volume that is not saved yet; null if there is none. */
  #rest = null;
  #checks = new Map();
  #hint = element("p", { class: "muted small", role: "status" });
  node;

  constructor(controller, alerts, notify) {
    this.#controller = controller;
    this.#alerts = alerts;
    this.#notify = notify;
    const { alerts: system, wakeLock } = controller.browser;
    this.node = element("details", { class: "card settings alerts" },
      element("summary", {}, t("Sound and alerts")),
      element("div", { class: "settings-form" },
        this.#account(),
        element("fieldset", {},
          element("legend", {}, t("On this device")),
          this.#check("ring", system.canVibrate
            ? t("Ring and vibrate at the end") : t("Ring at the end")),
          system.permission !== "missing"
            && this.#check("notify", t("Notify me while another window is in front")),
          wakeLock && this.#check("awake", t("Keep the screen on during a countdown")),
          this.#hint)));
  }

  #account() {
    const radios = Object.entries(soundNames).map(([sound, name]) => {
      const input = element("input", { type: "radio", name: "timer-sound", value: sound,
        on: { change: () => this.#save({ sound }) } });
      this.#sounds.set(sound, input);
      return element("label", { class: "check" }, input, name());
    });
    return element("div", { class: "alert-sound", "data-changes": true },
      element("fieldset", {},
        element("legend", {}, t("Sound")), element("div", { class: "sound-choices" }, ...radios)),
      element("div", { class: "field" },
        element("label", { for: "timer-volume" }, t("Volume")), this.#volume),
      element("p", { class: "hint" },
        t("Sound and volume are the same on all of your devices.")));
  }

  #check(name, words) {
    const input = element("input", { type: "checkbox",
      on: { change: () => this.#choose(name, input.checked) } });
    this.#checks.set(name, input);
    return element("label", { class: "check" }, input, words);
  }

  show() {
    const { sound, volume } = soundOf(this.#controller.state(timerApp));
    this.#sounds.get(sound).checked = true;
    if (this.#rest === null) this.#volume.value = volume;
    this.#volume.disabled = sound === "none";
    for (const [name, input] of this.#checks) input.checked = this.#alerts.choices.get(name);
    const { permission } = this.#alerts.alerts;
    const notifies = this.#checks.get("notify");
    if (notifies) {
      notifies.disabled = permission === "denied";
      notifies.checked &&= permission === "granted";
    }
    setText(this.#hint, this.#hintText(permission));
    show(this.#hint, this.#hint.textContent !== "");
  }

  #hintText(permission) {
    const hints = [
      this.#alerts.awaitsPress
        && t("The browser lets this page sound once you have pressed something in it."),
      permission === "denied" && t("This browser blocks notifications of this page. Allow them in "
        + "its settings for this site."),
    ].filter(Boolean);
    return hints.length < 2 ? hints.join("")
      : t("{first} {second}", { first: hints[0], second: hints[1] });
  }

  /** Saves the volume once the slider rests: a key that is held moves it many times. */
  #moveVolume() {
    const { browser } = this.#controller;
    this.#alerts.unlock();
    browser.clearTimer(this.#rest);
    this.#rest = browser.setTimer(async () => {
      await this.#save({ volume: Number(this.#volume.value) });
      this.#rest = null;
      this.show();
    }, limits.volumeRestMilliseconds);
  }

  async #save(changes) {
    const { sound, volume } = { ...soundOf(this.#controller.state(timerApp)), ...changes };
    this.#alerts.preview(sound, volume);
    try {
      await this.#controller.act(timerApp, { do: "setSound", ...changes });
    } catch (error) {
      this.#notify(errorText(error));
    }
    this.show();
  }

  async #choose(name, isWanted) {
    const { choices, alerts } = this.#alerts;
    const isGranted = name !== "notify" || !isWanted
      || await alerts.requestPermission() === "granted";
    choices.set(name, isWanted && isGranted);
    if (name === "awake") this.#alerts.updateScreen();
    this.show();
  }
}
