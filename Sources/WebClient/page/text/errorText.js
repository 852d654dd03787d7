import { currentLanguage, t } from "../language/language.js";
import { refusalText } from "./refusalTexts.js";
import { sentence } from "./sentences.js";

/**
 * Texts about what did not work. In English a person reads the sentence of the client, the relay or
 * the app, which tells the most. In another language there is one sentence for each code, and the
 * English one only where there is no code.
 */

/** By code: sentences that take the place of the relay's own in all languages. */
const relayTexts = {
  badPairingCode: () => t("That code is wrong, used or too old. Ask for a new one where it came "
    + "from: at the other device, or at the relay's owner."),
  registrationClosed: () =>
    t("This relay makes no accounts by itself. Ask its owner for a pairing code."),
  tooManyRequests: () => t("The relay asks to wait a moment. Try again in a minute."),
  outOfScope: () => t("This browser was paired for a part of the account, and may not do that. "
    + "Use a device with the whole account."),
  tooManyDevices: () =>
    t("The account has as many devices as it may have. Remove one first."),
};

/** By code of a `FileError`. */
const fileTexts = {
  aborted: () => t("The transfer was stopped. Start it again."),
  tooLarge: () => t("A browser sends and opens files of at most 256 MiB. Use the program lockstep "
    + "on a computer for a larger one."),
  noKeys: () => t("The files are sealed, and this device does not have the keys. Join again with a "
    + "whole code of a device that has them."),
  missing: () => t("The relay does not have the whole content yet. Open Lockstep on a device that "
    + "has the file, and try again."),
  damaged: () => t("The content that the relay has is not that of the file. Open Lockstep on a "
    + "device that has the file, and try again."),
  unreadable: () => t("The browser cannot read this file, or it has changed meanwhile. Choose it "
    + "again."),
};

/** By code of an `EditError`, of a refusal, or of the status. */
const clientTexts = {
  alreadyPaired: () => t("This browser belongs to an account already. Sign out first."),
  badCode: () =>
    t("That is no pairing code: one has 12 or 24 letters and digits, in groups of four."),
  badKeys: () => t("The keys are not readable. Pair this browser again, with a new code."),
  badPhrase: () => t("The phrase does not open this account's keys. Compare it with what was "
    + "written down. Nothing was changed."),
  badToken: () => t("The relay does not accept this browser as a device any more."),
  barred: () => t("The relay refuses this page, for a reason that is not known here."),
  busy: () => t("Too much waits to be done. Try again in a moment."),
  chunksMissing: () => t("The relay does not have the whole content of a file yet."),
  clockAhead: () => t("The clock of this device is wrong."),
  closed: () => t("Lockstep is closed in this tab. Reload the page."),
  deposed: () => t("Another tab leads now. Try again."),
  diskLow: () => t("The relay has no room on its disk. Its owner can make some."),
  internalError: () => t("The relay, or something between it and this browser, has a fault. Try "
    + "again later."),
  keysChanged: () => t("Another device has just changed the keys. Try again."),
  labelTaken: () => t("Another device has this name already. Choose another one."),
  network: () => t("This browser has no network."),
  accountMoved: () => t("The account lives on another relay now. Open that relay's page, and pair "
    + "this browser there."),
  noKeys: () => t("The relay has given no keys for that code, and this browser has not joined. "
    + "Make a new code on the other device."),
  movedInCircle: () => t("Two relays send this browser to each other. Ask their owners where the "
    + "account is."),
  movedNowhere: () => t("The account has moved to another relay, whose address is not known here. "
    + "Ask the relay's owner."),
  notPaired: () => t("Pair this browser with an account first."),
  nothingToDecide: () => t("Nothing is asked about that any more."),
  nothingToDelete: () => t("That is not there any more."),
  originNotAllowed: () => t("The relay does not allow pages from this address. Its owner can "
    + "change that."),
  hostNotAllowed: () => t("The relay does not know the name in this page's address. Its owner can "
    + "change that."),
  otherAccount: () => t("That is another account. Sign out of this browser first."),
  outboxFull: () => t("Too many changes wait for the relay. Connect first."),
  planRequired: () => t("The account's plan does not include that."),
  quotaExceeded: () => t("The account has no room left. Remove something, or ask the relay's "
    + "owner."),
  recordTooLarge: () => t("That is too large for one record. Divide it."),
  secondHalf: () => t("The second half of the code is missing. Make a new code on the other "
    + "device, and type all of it."),
  silent: () => t("The page's other tab does not answer. Reload it."),
  stale: () => t("This was changed meanwhile on another device. Look at it, and try again."),
  stopping: () => t("The relay is being restarted. Nothing is lost."),
  store: () => t("The browser's storage does not work. Make room on this device, and reload the "
    + "page."),
  unanswered: () => t("The relay did not answer in time."),
  unreachable: () => t("The relay could not be reached."),
  unsent: () => t("Changes that no other device has would be lost. Sync first."),
  wrongSecondHalf: () => t("The second half was wrong too often. Make a new code on the other "
    + "device."),
};

const aliases = {
  lost: "unreachable", transport: "unreachable", overloaded: "internalError",
  storeUnavailable: "internalError", requestTimeout: "unanswered", helloRequired: "unanswered",
  bodyTooLarge: "recordTooLarge", conflictTooLarge: "recordTooLarge", tooLarge: "recordTooLarge",
};

/** Returns the function with the text of a code; null if it has none. */
const textOf = (table, code) => (Object.hasOwn(table, code) ? table[code] : null);

/**
 * Returns the reason of a failure with the next step, for a person.
 *
 * @param {{name?: string, code?: string, message: string}} error
 */
export function errorText(error) {
  const { name, code = "", message } = error;
  const known = textOf(relayTexts, code);
  if (known) return known();
  if (name === "CallError") {
    return t("The relay gave no answer. Look at your connection, then try again.");
  }
  return reasonText({ code, detail: message, isFile: name === "FileError" });
}

/**
 * Returns a reason as a sentence.
 *
 * @param {{code: string | null, detail: string, isFile?: boolean}} reason `isFile`: the code is
 *   that of a `FileError`
 */
export function reasonText({ code, detail, isFile = false }) {
  if (currentLanguage() === "en") return sentence(detail);
  const name = Object.hasOwn(aliases, code ?? "") ? aliases[code] : code ?? "";
  const translated = (isFile ? textOf(fileTexts, code) : null) ?? textOf(clientTexts, name)
    ?? textOf(relayTexts, name);
  return translated?.() ?? refusalText(detail) ?? sentence(detail);
}
