import { copyText } from "../clipboard/copyText.js";
import { button } from "../components/controls.js";
import { element, setText, show } from "../components/element.js";
import { qrCode } from "../qr/qrCode.js";
import { qrDrawing } from "../qr/qrDrawing.js";
import { linkTo } from "../words/pairingCode.js";
import { problemWords } from "../words/problem.js";
import { codeLife } from "./devicesModel.js";

/** Card with a pairing code for another device, as a QR code, as text and as a link. */
export class PairCard {
  #desk;
  #tell;
  #issued = null;
  #picture = element("div", { class: "qr" });
  #code = element("p", { class: "code" });
  #life = element("p", { class: "muted small" });
  #shown = element("div", { class: "pair-shown", hidden: true }, this.#picture,
    element("div", { class: "pair-words" },
      element("p", { class: "muted small" }, "Scan it, or type on the other device:"),
      this.#code, this.#life,
      element("div", { class: "actions start" },
        button("Copy code", () => this.#copy(this.#issued.code), { kind: "primary" }),
        button("Copy link", () => this.#copy(this.#link)))));
  #ask = button("Show a pairing code", () => this.#issue(), { kind: "primary" });
  node = element("section", { class: "card pair", "aria-labelledby": "pair-title" },
    element("h2", { id: "pair-title" }, "Add a device"),
    element("p", { class: "muted" },
      "Who has the code gets into this account. Show it to your own devices alone."),
    this.#shown, this.#ask);

  constructor(desk, tell) {
    this.#desk = desk;
    this.#tell = tell;
  }

  /** Hides the code, so that it is not on the screen longer than needed. */
  hide() {
    this.#issued = null;
    this.show();
  }

  show() {
    show(this.#shown, this.#issued !== null);
    setText(this.#ask, this.#issued ? "Show a new code" : "Show a pairing code");
    this.#ask.classList.toggle("primary", this.#issued === null);
    if (this.#issued) setText(this.#life, codeLife(this.#issued.expiresAt, this.#desk.now));
  }

  get #link() { return linkTo(location.origin, this.#issued.code); }

  async #issue() {
    this.#ask.disabled = true;
    try {
      this.#issued = await this.#desk.lockstep.issueCode();
      setText(this.#code, this.#issued.code);
      this.#picture.replaceChildren(qrDrawing(qrCode(this.#link), "Pairing link as a QR code"));
    } catch (error) {
      this.#tell(problemWords(error));
    }
    this.#ask.disabled = false;
    this.show();
  }

  async #copy(text) {
    const isCopied = await copyText(text);
    this.#tell(isCopied ? "Copied." : "This browser does not let the page copy. Select the text.");
  }
}
