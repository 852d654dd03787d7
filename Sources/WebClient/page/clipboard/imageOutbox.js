import { clipboardApp } from "../../apps/clipboard/clipboardApp.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { errorText } from "../text/errorText.js";

/** States of the sync in which the relay can be asked. */
const connected = ["inSync", "syncing", "needsPerson"];

/** Reason that an image is not taken: one sentence for the person, with the next step. */
export class ImageFault extends Error {
  name = "ImageFault";
}

/** Returns the number of images of the account that wait in this browser to be sent. */
export async function waitingImages({ browser, status: { accountID } }) {
  const kept = await browser.pageStore.all("images").catch(() => []);
  return kept.filter(({ account }) => account === accountID).length;
}

/**
 * Images of the clipboard that wait in this browser until the relay has their content: added
 * offline, or just now. Each survives a reload, and becomes an item once it was sent.
 *
 * An image is `{id, account, content, imageType, thumbnail, bytes, at}`; `id` becomes the name of
 * the item, so that it is added once, whichever tab sends it. `problem` is the sentence of the last
 * refusal, in memory only.
 */
export class ImageOutbox {
  #controller;
  #changed;
  #images = [];
  #account = null;
  /** Number of changes of the list by this page. */
  #revision = 0;
  #isSending = false;
  #isAgain = false;
  #retry = null;
  /** Time before which an image is not sent again that the relay has refused, by its id. */
  #notBefore = new Map();

  /** @param {() => void} changed called when the list of waiting images has changed */
  constructor(controller, changed) {
    this.#controller = controller;
    this.#changed = changed;
    controller.subscribe(({ kind }) => {
      if (kind === "status") this.refresh();
    });
    this.refresh();
  }

  /** Returns the waiting images, the newest first. */
  get images() { return this.#images; }

  image(id) { return this.#images.find((it) => it.id === id) ?? null; }

  /**
   * Keeps an image durably, and sends it as soon as possible.
   *
   * @param {{id: string, content: string, imageType: string, thumbnail: string | null,
   *   bytes: ArrayBuffer}} image
   * @throws {ImageFault}
   */
  async add(image) {
    const { accountID: account } = this.#controller.status;
    if (this.#images.length >= limits.waitingImages) {
      throw new ImageFault(t("{count} images wait to be sent already. Add this one when they are "
        + "sent.", { count: limits.waitingImages }));
    }
    const kept = { ...image, account, at: this.#controller.now };
    try {
      await this.#store.put("images", image.id, kept);
    } catch {
      throw new ImageFault(
        t("This browser has no room to keep the image. Free some space first."));
    }
    this.#revision += 1;
    this.#show([kept, ...this.#images.filter(({ id }) => id !== image.id)]);
    this.#send();
  }

  async remove(id) {
    this.#notBefore.delete(id);
    await this.#store.remove("images", id);
    this.#revision += 1;
    this.#show(this.#images.filter((it) => it.id !== id));
  }

  /** Reads what waits, for the present account, and sends it if the relay can be reached. */
  async refresh() {
    const { accountID: account, state } = this.#controller.status;
    if (account !== this.#account) {
      this.#account = account;
      this.#show([]);
      await this.#read();
    }
    if (connected.includes(state) && !this.#isHeldBack) await this.#send();
  }

  /** True if the relay has refused all that waits, and it is too early to ask again. */
  get #isHeldBack() {
    const { now } = this.#controller;
    return this.#images.length > 0
      && this.#images.every(({ id }) => now < (this.#notBefore.get(id) ?? 0));
  }

  async #read() {
    const account = this.#account;
    let revision;
    let kept;
    // What was read may be older than a change that this page has made meanwhile.
    do {
      revision = this.#revision;
      kept = account === null ? [] : await this.#store.all("images").catch(() => []);
    } while (revision !== this.#revision);
    if (account !== this.#account) return;
    const problems = new Map(this.#images.map(({ id, problem }) => [id, problem]));
    this.#show(kept.filter((it) => it.account === account)
      .sort((one, other) => other.at - one.at)
      .map((it) => ({ ...it, problem: problems.get(it.id) })));
  }

  /** Sends what waits, one image after the other; only one tab of the browser does. */
  async #send() {
    if (this.#isSending) {
      this.#isAgain = true;
      return;
    }
    this.#isSending = true;
    do {
      this.#isAgain = false;
      await this.#controller.browser.alone("lockstep images", () => this.#sendAll());
    } while (this.#isAgain);
    this.#isSending = false;
  }

  async #sendAll() {
    await this.#read();
    for (const image of [...this.#images].reverse()) {
      if (!connected.includes(this.#controller.status.state)) return;
      if (this.#controller.now < (this.#notBefore.get(image.id) ?? 0)) continue;
      try {
        await this.#sendOne(image);
      } catch (error) {
        this.#refused(image, error);
        if (error.name === "CallError") return;
      }
    }
  }

  async #sendOne({ id, account, content, imageType, thumbnail, bytes }) {
    const { lockstep } = this.#controller;
    const { file } = await lockstep.files.upload(clipboardApp.zone,
      new Blob([bytes], { type: imageType }), { name: content });
    // The person may have removed it, or left the account, while it was sent.
    if (!this.image(id) || this.#controller.status.accountID !== account) return;
    await this.#controller.act(clipboardApp,
      { do: "addImage", name: id, content, image: file, imageType, thumbnail });
    await this.remove(id);
  }

  /** Tries again later; a relay that was not reached is tried with the next connection, too. */
  #refused(image, error) {
    const isUnreached = error.name === "CallError";
    const problem = isUnreached ? undefined : errorText(error);
    this.#show(this.#images.map((it) => (it.id === image.id ? { ...it, problem } : it)));
    const { browser, now } = this.#controller;
    if (!isUnreached) this.#notBefore.set(image.id, now + limits.imageRetryMilliseconds);
    browser.clearTimer(this.#retry);
    this.#retry = browser.setTimer(() => this.refresh(), limits.imageRetryMilliseconds);
  }

  #show(images) {
    this.#images = images;
    this.#changed();
  }

  get #store() { return this.#controller.browser.pageStore; }
}
