/**
 * Choices of a person for this browser alone: permissions, speakers and batteries belong to a
 * device, so these choices do not sync. All pages of the browser share them.
 *
 * - `ring`: sound and vibration at the end of a countdown.
 * - `notify`: a notification at the end of a countdown if no page is in view.
 * - `awake`: the screen stays on while a countdown runs.
 * - `letters`: single letters are shortcuts.
 * - `language`: the page's language; null for the browser's.
 */
const defaults = Object.freeze({ ring: true, notify: false, awake: false, letters: true });

export class DeviceChoices {
  #memory;

  /** @param {{read: (name: string) => string | null, write: (name: string, text: string) => void}}
   *   memory small values of the browser, as in `page/browser.js` */
  constructor(memory) { this.#memory = memory; }

  get(name) {
    const kept = this.#memory.read(`lockstep ${name}`);
    return kept === null ? defaults[name] : kept === "yes";
  }

  get language() { return this.#memory.read("lockstep language"); }

  /** @param {string | null} language */
  set language(language) { this.#memory.write("lockstep language", language ?? ""); }

  set(name, isWanted) { this.#memory.write(`lockstep ${name}`, isWanted ? "yes" : "no"); }
}
