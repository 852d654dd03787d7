import { clipboardApp } from "../apps/clipboard/clipboardApp.js";
import { habitsApp } from "../apps/habits/habitsApp.js";
import { memosApp } from "../apps/memos/memosApp.js";
import { timerApp } from "../apps/timer/timerApp.js";
import { nextSecond } from "../apps/timer/timerScreen.js";
import { vaultApp } from "../apps/vault/vaultApp.js";
import { ImageOutbox } from "./clipboard/imageOutbox.js";
import { Notices } from "./components/notices.js";
import { AppController } from "./appController.js";
import { HabitReminders } from "./habits/habitReminders.js";
import { systemReminderNotices } from "./habits/reminderNotices.js";
import { ReminderTimes } from "./habits/reminderTimes.js";
import { t } from "./language/language.js";
import { memoInAddress } from "./memos/memoAddress.js";
import { LaterView } from "./shell/laterView.js";
import { Shell } from "./shell/shell.js";
import { TypedTexts } from "./shell/typedTexts.js";
import { TimerAlerts } from "./timer/alerts/timerAlerts.js";
import { countingIcon, timerModel } from "./timer/timerModel.js";
import { TimerView } from "./timer/timerView.js";
import { WakeSwitch } from "./wakes/wakeSwitch.js";
import { WelcomeView } from "./welcome/welcomeView.js";

/** Time after the start in which the page and its data come first. */
const prepareMilliseconds = 2_000;

/** The page as a whole: chooses the view, and runs the clock of all views. */
export class Page {
  #controller;
  #browser;
  #notices;
  #welcome;
  #shell;
  #wakes;
  #alerts;
  #tick = null;
  #icon = document.querySelector('link[rel="icon"]');
  #plainIcon = this.#icon.getAttribute("href");
  #isDue = false;
  /** Views that a person may not open, and that need much code. */
  #laterViews;
  #typed;
  #typedViews;

  constructor(lockstep, { browser, place, deviceName }) {
    this.#browser = browser;
    this.#controller = new AppController(lockstep, browser);
    this.#notices = new Notices(browser);
    this.#typed = new TypedTexts(browser.tabMemory);
    this.#wakes = new WakeSwitch(this.#controller, browser.push);
    const notify = (...words) => this.#notices.show(...words);
    this.#alerts = new TimerAlerts(this.#controller, (words) => {
      if (!this.#notices.isOffering) notify(words);
    }, () => this.#show());
    const reload = () => this.#reload();
    const parts = [this.#controller, notify, {
      wakes: this.#wakes, alerts: this.#alerts, reload,
      images: new ImageOutbox(this.#controller, () => this.#scheduleShow()),
      reminders: new HabitReminders(this.#controller, new ReminderTimes(browser.storage),
        systemReminderNotices(), notify),
    }];
    this.#laterViews = this.#makeLaterViews(parts, reload);
    const { clipboard, memos, habits, files, devices } = this.#laterViews;
    const views = { timer: new TimerView(...parts), clipboard, memos, habits, files, devices };
    this.#welcome = new WelcomeView(this.#controller, deviceName,
      { changed: () => this.#scheduleShow(), reload });
    this.#typedViews = [["welcome", this.#welcome], ...Object.entries(views)];
    this.#typed.restore(this.#typedViews);
    this.#shell = new Shell(this.#controller, {
      place, notices: this.#notices, welcome: this.#welcome,
      views: Object.entries(views).map(([name, view]) => ({ name, view })),
    });
  }

  #makeLaterViews(parts, reload) {
    const later = (name, title, app, load) => new LaterView({
      name, title, zone: app?.zone, reload, load,
      loaded: () => this.#typed.restore([[name, this.#laterViews[name]]]),
    });
    return {
      clipboard: later("clipboard", t("Clipboard"), clipboardApp,
        () => import("./clipboard/clipboardView.js").then((it) => new it.ClipboardView(...parts))),
      memos: later("memos", t("Memos"), memosApp,
        () => import("./memos/memosView.js").then((it) => new it.MemosView(...parts))),
      habits: later("habits", t("Habits"), habitsApp,
        () => import("./habits/habitsView.js").then((it) => new it.HabitsView(...parts))),
      files: later("files", t("Files"), vaultApp,
        () => import("./vault/vaultView.js").then((it) => new it.VaultView(...parts))),
      devices: later("devices", t("Devices"), null,
        () => import("./devices/devicesView.js").then((it) => new it.DevicesView(...parts))),
    };
  }

  start() {
    this.#controller.subscribe(() => this.#scheduleShow());
    addEventListener("hashchange", () => {
      this.#openFromAddress();
      this.#showTime();
    });
    document.addEventListener("visibilitychange", () => this.#handleVisibility());
    for (const name of ["pointerup", "keydown", "click"]) {
      document.addEventListener(name, () => this.#alerts.handlePress(), { capture: true });
    }
    const skipLink = document.querySelector(".skip-link");
    skipLink.textContent = t("Skip to the content");
    skipLink.addEventListener("click", (event) => {
      event.preventDefault();
      this.#shell.focusMain();
    });
    if (!this.#browser.isSecure) {
      this.#shell.setNote(t("This page came over plain http: it cannot be installed or opened "
        + "without a connection, and others in the network can read along."));
    }
    this.#handleVisibility();
    this.#browser.setTimer(() => this.#prepareViews(), prepareMilliseconds);
  }

  /** Loads what a person may open next, after the first view has been shown. */
  #prepareViews() {
    for (const view of Object.values(this.#laterViews)) view.prepare();
  }

  #handleVisibility() {
    this.#show();
    if (document.visibilityState === "visible") this.#browser.push.clear().catch(() => {});
  }

  /** Handles a message of the service worker: `wake` after a push, and `open` after a click on a
   * notification. */
  handleMessage({ kind, view }) {
    if (kind === "wake") {
      this.#controller.lockstep.syncNow().catch(() => {});
      this.#wakes.refresh();
    } else if (kind === "open" && this.#shell.has(view)) {
      location.hash = view;
    }
  }

  offerReload() {
    this.#notices.show(t("A new version of Lockstep is here."),
      { words: t("Reload"), act: () => this.#reload() });
  }

  /** Loads the page again, and keeps what was typed. */
  #reload() {
    this.#typed.keep(this.#typedViews);
    location.reload();
  }

  /** Opens the view, or the memo, in the address. */
  #openFromAddress() {
    const name = location.hash.slice(1);
    const code = /^code=([\w-]+(?:&keys)?)$/.exec(name)?.[1];
    if (code) this.#offerCode(code);
    const memo = memoInAddress(location.hash);
    if (memo !== null && this.#shell.has("memos")) this.#open("memos", memo);
    else this.#open(this.#shell.has(name) ? name : this.#shell.first);
  }

  /** Removes the code from the address: a code is valid once, and must not be in the history. */
  #offerCode(code) {
    history.replaceState(null, "", location.pathname);
    if (this.#isPaired) {
      this.#notices.show(t("This browser belongs to an account already. Sign out first to pair "
        + "it with another."));
    } else {
      this.#welcome.offer(code);
    }
  }

  get #isPaired() { return this.#controller.status.state !== "needsPairing"; }

  #open(name, entry = null) {
    if (this.#welcome.isNeeded) this.#shell.open("welcome");
    else this.#shell.open(name, entry);
  }

  /** Shows several changes at once. */
  #scheduleShow() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#show();
    });
  }

  #show() {
    if (this.#shell.isEmpty || this.#welcome.isNeeded !== this.#shell.isWelcome) {
      this.#openFromAddress();
    }
    this.#shell.show();
    this.#showTime();
  }

  /** Updates the countdown in the title and in the icon; all change at the same instant of relay
   * time. */
  #showTime() {
    const { now, minutesAhead } = this.#controller;
    const model = timerModel(this.#controller.state(timerApp), now, minutesAhead);
    this.#alerts.update(model, now);
    const name = this.#shell.isTimer ? model.title : this.#shell.title;
    const counting = model.minutes === null || this.#shell.isWelcome ? "" : `${model.title} · `;
    const title = counting || `${name} · `;
    if (document.title !== `${title}Lockstep`) document.title = `${title}Lockstep`;
    const sign = counting === "" ? this.#plainIcon : countingIcon(model.minutes,
      { isPaused: model.isPaused, isFocus: model.stateType === "focus" });
    if (this.#icon.getAttribute("href") !== sign) this.#icon.setAttribute("href", sign);
    this.#browser.clearTimer(this.#tick);
    // Without a countdown, texts such as "5 min ago" must still be updated.
    const next = model.zeroAt === null ? now + 30_000 : nextSecond(model.zeroAt, now);
    this.#tick = this.#browser.setTimer(() => this.#show(), next - now);
  }
}
