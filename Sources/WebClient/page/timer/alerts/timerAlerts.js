import { timerEnd } from "../../../apps/timer/timerEnd.js";
import { soundOf, timerApp } from "../../../apps/timer/timerApp.js";
import { limits } from "../../limits.js";
import { ExactTimer } from "../../exactTimer.js";
import { EndWatch } from "./endWatch.js";
import { endText } from "./endText.js";
import { MediaKeys } from "./mediaKeys.js";
import { ScreenWake } from "./screenWake.js";
import { SoundPlayer } from "./soundPlayer.js";
import { notesOf } from "./sounds.js";

/** Two short pulses, in milliseconds. */
const pulses = [180, 120, 180];

/**
 * Announces the end of a countdown: by sound and vibration, by a notification if no page is in
 * view, and by a notice in the page. Of several pages of one browser, one does it.
 *
 * Everything that a countdown needs beside its view is here too: the screen that stays on, and the
 * media keys.
 */
export class TimerAlerts {
  #controller;
  #notify;
  #watch = new EndWatch();
  #player;
  #screen;
  #mediaKeys;
  #exactTimer;
  #show;
  /** Instant of the end for which the page sounds; null if it does not. */
  #sounding = null;
  #isRunning = false;
  #hasTried = false;
  /** Zero for which the exact timer is set; null if it is not. */
  #awaited = null;

  /**
   * @param {(words: string) => void} notify shows a notice in the page
   * @param {() => void} show shows the page anew, which calls `update`
   */
  constructor(controller, notify, show) {
    const { browser } = controller;
    this.#controller = controller;
    this.#notify = notify;
    this.#show = show;
    this.#exactTimer = new ExactTimer(browser);
    this.#player = new SoundPlayer(browser);
    this.#screen = new ScreenWake(browser);
    this.#mediaKeys = new MediaKeys(browser.mediaSession,
      (order) => controller.act(timerApp, { do: order }));
  }

  get choices() { return this.#controller.browser.choices; }

  get alerts() { return this.#controller.browser.alerts; }

  /** True if a countdown runs whose end would not be heard, because the browser waits for a press
   * before it lets the page sound. */
  get awaitsPress() { return this.#isRunning && this.#isMute; }

  get #ringsAloud() { return this.choices.get("ring") && this.#sound.sound !== "none"; }

  get #sound() { return soundOf(this.#controller.state(timerApp)); }

  get #isMute() { return this.#ringsAloud && !this.#player.isUnlocked; }

  /** Call it in the handler of a press that begins or goes on with a countdown. */
  unlock() {
    if (this.#ringsAloud) this.#player.unlock();
  }

  /** Call it in the handler of each press of a button or key: also a person who only writes a memo
   * lets the page sound. */
  handlePress() {
    if (this.#isRunning) this.unlock();
  }

  /** Sounds as at the end of a countdown, for a person who chooses. Call it in the handler of a
   * press. */
  preview(sound, volume) {
    this.#player.unlock();
    return this.#player.play(notesOf(sound, volume));
  }

  /** @param {object} model of `timerModel`, at `now` */
  update(model, now) {
    const { browser } = this.#controller;
    const end = timerEnd(this.#controller.state(timerApp), now);
    // Somebody has acted since, here or elsewhere.
    if (this.#sounding !== null && end?.at !== this.#sounding) this.#end();
    const isCurrent = this.#controller.status.state !== "syncing";
    const due = this.#watch.next(end, model.zeroAt, now, isCurrent);
    if (due !== null) this.#announce(due);
    this.#isRunning = model.zeroAt !== null;
    this.#unlockAfterReload();
    this.updateScreen();
    this.#mediaKeys.update(model);
    this.#await(browser.isInView ? null : model.zeroAt, now);
  }

  /** A browser may remember over a reload that a person has pressed something. */
  #unlockAfterReload() {
    if (!this.#isRunning || this.#hasTried || !this.#controller.browser.hasBeenPressed) return;
    this.#hasTried = true;
    this.unlock();
  }

  /** Makes sure that a hidden page hears of zero in time. @param {number | null} zeroAt */
  #await(zeroAt, now) {
    if (this.#awaited === zeroAt) return;
    this.#awaited = zeroAt;
    this.#exactTimer.clear();
    if (zeroAt === null) return;
    this.#exactTimer.set(zeroAt - now, () => {
      this.#awaited = null;
      this.#show();
    });
  }

  updateScreen() { this.#screen.update(this.#isRunning && this.choices.get("awake")); }

  async #announce(end) {
    const { browser } = this.#controller;
    // To be heard is more than to be in view.
    const steps = (this.#isMute ? 2 : 0) + (browser.isInView ? 0 : 1);
    if (steps > 0) {
      await new Promise((resolve) =>
        new ExactTimer(browser).set(steps * limits.alertYieldMilliseconds, resolve));
      const { now } = this.#controller;
      if (timerEnd(this.#controller.state(timerApp), now)?.at !== end.at) return;
    }
    const words = endText(end);
    this.#notify(words);
    const isTold = await this.alerts.isTold(end.at);
    // A page that may not sound leaves that to another, however late the other is.
    const claimed = this.#isMute ? "lockstep silent end" : "lockstep end";
    if (isTold || !await browser.claim(claimed, String(end.at))) return;
    const isHeard = await this.#ring(end);
    if (!browser.isInView && this.choices.get("notify")) {
      this.alerts.show(words, { isSilent: isHeard || !this.choices.get("ring") });
    }
  }

  /** Resolves with true if the person can hear or feel it. */
  async #ring(end) {
    if (!this.choices.get("ring")) return false;
    const { sound, volume } = this.#sound;
    this.#sounding = end.at;
    const isFelt = this.alerts.vibrate(pulses);
    return await this.#player.play(notesOf(sound, volume)) || isFelt;
  }

  #end() {
    if (this.#sounding === null) return;
    this.#sounding = null;
    this.#player.stop();
    this.alerts.vibrate([]);
  }
}
