import { t } from "../language/language.js";

/** By the sentence with which an app refuses an action, in English: those that a person can meet.
 * Others tell a program of a wrong action. */
const refusalTexts = {
  "one of the two versions has changed; compare them again":
    () => t("One of the two versions has changed; compare them again."),
  "the other version is not there any more": () => t("The other version is not there any more."),
  "this memo is not there any more": () => t("This memo is not there any more."),
  "this memo is there already": () => t("This memo is there already."),
  "there is nothing to add: the text is blank":
    () => t("There is nothing to add: the text is blank."),
  "this item is not there any more": () => t("This item is not there any more."),
  "this file is not there any more": () => t("This file is not there any more."),
  "this file has just changed; look at it again":
    () => t("This file has just changed; look at it again."),
  "this file is there again already": () => t("This file is there again already."),
  "this file is no other version of one": () => t("This file is no other version of one."),
  ["this file is sealed in an earlier way; change it once with the program lockstep on a computer, "
    + "and try again"]:
    () => t("This file is sealed in an earlier way; change it once with the program lockstep on a "
      + "computer, and try again."),
  ["the account has something in this file's place that this browser cannot read; add the file on "
    + "a device that can, or give it another name"]:
    () => t("The account has something in this file's place that this browser cannot read; add the "
      + "file on a device that can, or give it another name."),
};

/** Sentences of apps that have a text in the person's language. */
export const refusals = Object.freeze(Object.keys(refusalTexts));

/** Returns the text for the sentence of an app; null if it has none. @param {string} reason */
export const refusalText = (reason) =>
  (Object.hasOwn(refusalTexts, reason) ? refusalTexts[reason]() : null);
