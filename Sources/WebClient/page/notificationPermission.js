/** The browser's permission for notifications. After a person's first answer, some browsers still
 * give the former permission until the page is opened again, so the answer counts. */
export class NotificationPermission {
  #scope;
  /** The last answer to `request`; null before it. */
  #answer = null;

  /** @param {typeof globalThis} scope */
  constructor(scope) { this.#scope = scope; }

  /** `granted`, `denied` or `default`. */
  get value() {
    const { permission } = this.#scope.Notification;
    return permission === "default" ? this.#answer ?? permission : permission;
  }

  /** True if the person was asked, and has closed the question without an answer. */
  get isLeftOpen() { return this.#answer === "default" && this.value === "default"; }

  /** Asks the person. Resolves with the answer. */
  async request() {
    this.#answer = await this.#scope.Notification.requestPermission();
    return this.#answer;
  }
}
