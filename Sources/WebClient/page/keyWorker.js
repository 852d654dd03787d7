import { t } from "./language/language.js";

/** Computes the keys of codes in a worker, so that the page goes on meanwhile. */
export class KeyWorker {
  /** Called with the part that is done, up to 1. */
  onProgress = null;

  /** Computes scrypt: the option `scrypt` of `Lockstep.open`. */
  derive(password, parameters) {
    return new Promise((resolve, reject) => {
      const script = new URL("../sealing/scryptWorker.js", import.meta.url);
      const worker = new Worker(script, { type: "module" });
      worker.onmessage = ({ data: { done, key } }) => {
        if (key === undefined) {
          this.onProgress?.(done);
          return;
        }
        worker.terminate();
        resolve(key);
      };
      worker.onerror = () => {
        worker.terminate();
        reject(new Error(
          t("this browser did not compute the key; reload the page, and try again")));
      };
      worker.postMessage({ password, parameters });
    });
  }
}
