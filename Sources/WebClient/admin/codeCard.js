import { button, field } from "../page/components/controls.js";
import { copyText } from "../page/components/copyText.js";
import { element, setText, show } from "../page/components/element.js";
import { qrCode } from "../page/qr/qrCode.js";
import { qrDrawing } from "../page/qr/qrDrawing.js";
import { messageFor, validities, validityText } from "./codeModel.js";

/** Returns a choice of the time for which a code is valid. */
export function validityField(chosen) {
  const input = element("select", {}, validities.map(({ seconds, words }) =>
    element("option", { value: seconds, selected: seconds === chosen }, words)));
  return { input, node: field("The code is valid for", input) };
}

/** A code that was made: QR code, link, letters, and what to send. */
export class CodeCard {
  #page;
  #offer = null;
  #picture = element("div", { class: "qr" });
  #link = element("p", { class: "code-link" });
  #code = element("p", { class: "code" });
  #until = element("p", { class: "muted small" });
  #lead = element("p", {});
  #copyMessage = button("Copy the message", () => this.#copy(this.#message), { kind: "primary" });
  #copyLink = button("Copy the link", () => this.#copy(this.#offer.link));
  #withoutLink = element("p", { class: "muted small" }, "The relay does not know its public "
    + "address, so there is no link. Set public-url, or type the code on the device beside the "
    + "relay's address.");

  constructor(page) {
    this.#page = page;
    this.node = element("div", { class: "offer", hidden: true }, this.#picture,
      element("div", { class: "offer-words stack-small" }, this.#lead, this.#link,
        element("p", { class: "muted small" }, "Or this code, typed on the device:"), this.#code,
        this.#until, this.#withoutLink),
      element("div", { class: "actions start" }, this.#copyMessage, this.#copyLink,
        button("Copy the code", () => this.#copy(this.#offer.code))));
  }

  /** @param {ReturnType<import("./codeModel.js").offerOf>} offer @param {string} name of the one
   * who gets it */
  open(offer, name) {
    this.#offer = offer;
    const hasLink = offer.link !== null;
    setText(this.#lead, hasLink ? `Send this to ${name}, or let the phone read the picture:`
      : `For ${name}:`);
    setText(this.#link, offer.link ?? "");
    setText(this.#code, offer.code);
    for (const node of [this.#link, this.#copyMessage, this.#copyLink]) show(node, hasLink);
    show(this.#withoutLink, !hasLink);
    this.#draw(offer.link);
    show(this.node, true);
    this.show();
  }

  close() {
    this.#offer = null;
    show(this.node, false);
    this.#picture.replaceChildren();
    for (const node of [this.#link, this.#code, this.#lead]) setText(node, "");
  }

  get isOpen() { return this.#offer !== null; }

  show() { if (this.#offer) setText(this.#until, this.#untilText); }

  get #untilText() {
    const { now, minutesAhead } = this.#page;
    return validityText(this.#offer.expiresAt, now, minutesAhead);
  }

  get #message() { return messageFor(this.#offer, this.#untilText); }

  /** A link that is too long for a QR code has none. */
  #draw(link) {
    show(this.#picture, link !== null);
    if (link === null) return;
    try {
      this.#picture.replaceChildren(qrDrawing(qrCode(link), "Link as a QR code"));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      show(this.#picture, false);
    }
  }

  async #copy(text) {
    const isCopied = await copyText(text);
    this.#page.notify(isCopied ? "Copied."
      : "This browser does not let the page copy. Select the text.");
  }
}
