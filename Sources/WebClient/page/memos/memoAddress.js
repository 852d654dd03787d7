/**
 * Address of the open memo, `#memo=NAME`, in the browser's history: Back closes the memo, and a
 * reload opens it again. A memo that is opened from another replaces that in the history.
 */
export class MemoAddress {
  /** Resolves once the browser has left the address of the last memo. */
  #left = Promise.resolve();

  async open(name) {
    await this.#left;
    const address = `#memo=${encodeURIComponent(name)}`;
    if (location.hash === address) return;
    if (isMemos()) history.replaceState(history.state, "", address);
    else history.pushState({ isMemo: true }, "", address);
  }

  close() {
    if (!isMemos()) return;
    if (!history.state?.isMemo) {
      history.replaceState(null, "", "#memos");
      return;
    }
    this.#left = new Promise((resolve) => {
      addEventListener("popstate", () => resolve(), { once: true });
    });
    history.back();
  }
}

const isMemos = () => location.hash.startsWith("#memo=");

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
