/**
 * Address of the open memo, `#memo=NAME`, in the browser's history: Back closes the memo, and a
 * reload opens it again. A memo that is opened from another replaces that in the history.
 */
export class MemoAddress {
  /** Name of the memo that is to be in the address; null for the list. */
  #wanted = null;
  /** True while the browser goes back: what is wanted meanwhile is written when it has arrived. */
  #isLeaving = false;

  open(name) { this.#want(name); }

  close() { this.#want(null); }

  #want(name) {
    this.#wanted = name;
    if (this.#isLeaving) return;
    if (name !== null) this.#write(`#memo=${encodeURIComponent(name)}`);
    else if (isMemo()) this.#leave();
  }

  #write(address) {
    if (location.hash === address) return;
    if (isMemo()) history.replaceState(history.state, "", address);
    else history.pushState({ isMemo: true }, "", address);
  }

  #leave() {
    if (!history.state?.isMemo) {
      history.replaceState(null, "", "#memos");
      return;
    }
    this.#isLeaving = true;
    addEventListener("popstate", () => {
      this.#isLeaving = false;
      this.#want(this.#wanted);
    }, { once: true });
    history.back();
  }
}

const isMemo = () => location.hash.startsWith("#memo=");

/** Returns the name of the memo in an address; null if there is none. @param {string} hash */
export function memoInAddress(hash) {
  const name = /^#memo=(.+)$/.exec(hash)?.[1];
  if (name === undefined) return null;
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}
