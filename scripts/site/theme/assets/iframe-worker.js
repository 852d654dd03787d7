/**
 * Workers for pages that are opened as files, for which browsers run none: a hidden frame runs the
 * script, and messages pass between the two windows. The theme's search needs no more.
 *
 * The theme asks for this file by the name iframe-worker, and for the class by IFrameWorker.
 */
class FrameWorker extends EventTarget {
  #window;

  constructor(address) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    this.#window = new Promise((resolve, reject) => {
      frame.addEventListener("load", () => {
        const inside = frame.contentWindow;
        inside.postMessage = (data) => {
          this.dispatchEvent(new MessageEvent("message", { data }));
        };
        const script = inside.document.createElement("script");
        script.addEventListener("load", () => resolve(inside));
        script.addEventListener("error", reject);
        script.src = new URL(address, location.href);
        inside.document.body.append(script);
      });
    });
    document.body.append(frame);
  }

  async postMessage(data) {
    const inside = await this.#window;
    inside.dispatchEvent(new MessageEvent("message", { data }));
  }
}

if (location.protocol === "file:") {
  window.Worker = FrameWorker;
  window.IFrameWorker = FrameWorker;
}
