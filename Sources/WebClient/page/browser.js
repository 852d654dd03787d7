import { SystemClipboard } from "./clipboard/clipboardInput.js";
import { SharedItems } from "./clipboard/sharedItems.js";
import { DeviceChoices } from "./deviceChoices.js";
import { KeyWorker } from "./keyWorker.js";
import { PageStore } from "./store/pageStore.js";
import { systemAlerts } from "./timer/alerts/browserAlerts.js";
import { systemPush } from "./wakes/browserPush.js";

/**
 * All inputs of the page from the browser (time, randomness, time zone, push, sound, a worker) in
 * one value. Tests provide their own.
 */
export function systemBrowser() {
  return {
    setTimer: (act, milliseconds) => setTimeout(act, Math.max(0, milliseconds)),
    clearTimer: (timer) => clearTimeout(timer),
    /** Timer of another window of the page. */
    setTimerIn: (window, act, milliseconds) => window.setTimeout(act, Math.max(0, milliseconds)),
    openTimerWorker: () =>
      new Worker(new URL("./timerWorker.js", import.meta.url), { type: "module" }),
    random: (count) => crypto.getRandomValues(new Uint8Array(count)),
    /** Offset of the person's time zone from UTC at an instant, in minutes; positive to the
     * east. */
    minutesAhead: (instant) => -new Date(instant).getTimezoneOffset(),
    isSecure: globalThis.isSecureContext === true,
    /** True if a text field that is focused brings up a keyboard on the screen. */
    get hasScreenKeyboard() { return globalThis.matchMedia("(pointer: coarse)").matches; },
    push: systemPush(),
    keyWorker: new KeyWorker(),
    get isInView() { return document.visibilityState === "visible"; },
    get hasBeenPressed() { return navigator.userActivation?.hasBeenActive === true; },
    get isPressed() { return navigator.userActivation?.isActive === true; },
    openAudio: () => (globalThis.AudioContext ? new AudioContext() : null),
    alerts: systemAlerts(),
    choices: new DeviceChoices(memory),
    memory,
    tabMemory,
    claim,
    alone,
    clipboard: new SystemClipboard(navigator.clipboard),
    shared: new SharedItems(globalThis.caches),
    wakeLock: navigator.wakeLock,
    mediaSession: navigator.mediaSession,
    floatingWindows: globalThis.documentPictureInPicture,
    /** Addresses of the page's style sheets, for its other windows. */
    styleSheets: () => [...document.querySelectorAll('link[rel="stylesheet"]')]
      .map(({ href }) => href),
    pageStore: new PageStore(globalThis.indexedDB),
    storage: systemStorage(),
    /** Asks the browser not to delete the page's data; some ask the person. */
    persist: async () => globalThis.navigator.storage?.persist?.(),
  };
}

/** Small values that all pages of this browser share, and that outlive them. A browser may refuse
 * to keep them; a page then has what is the default. */
const memory = {
  read(name) {
    try {
      return localStorage.getItem(name);
    } catch {
      return null;
    }
  },
  write(name, text) {
    try {
      localStorage.setItem(name, text);
    } catch {
      // Not kept.
    }
  },
};

/** Small values that only this tab has, also after it is loaded again; none where a browser refuses
 * to keep them. */
const tabMemory = {
  read: (name) => allowed(() => sessionStorage.getItem(name)),
  write: (name, text) => allowed(() => sessionStorage.setItem(name, text)),
  remove: (name) => allowed(() => sessionStorage.removeItem(name)),
};

function allowed(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** Returns the storage of what belongs to this browser alone; null if the browser has none for the
 * page. */
function systemStorage() {
  try {
    return globalThis.localStorage;
  } catch {
    return null;
  }
}

/** Runs something that only one page of this browser is to do at a time. Without Web Locks (plain
 * http) the pages do not wait for one another. */
async function alone(name, act) {
  await (navigator.locks ? navigator.locks.request(name, act) : act());
}

/** Time for which a claim is kept as a lock. */
const claimMilliseconds = 60_000;

/** Resolves with true for the first page of this browser that claims a value under a name. Without
 * Web Locks (plain http), two pages that claim it within a millisecond may both get it. */
async function claim(name, value) {
  const attempt = () => {
    const isFirst = memory.read(name) !== value;
    memory.write(name, value);
    return isFirst;
  };
  if (!navigator.locks) return attempt();
  return new Promise((resolve) => {
    navigator.locks.request(`${name} ${value}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null && attempt());
      // Another page may run in a process that does not see yet what this one has written.
      return lock && new Promise((done) => setTimeout(done, claimMilliseconds));
    }).catch(() => resolve(true));
  });
}
