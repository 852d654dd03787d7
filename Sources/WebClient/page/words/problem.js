/** Returns the reason of a failure with the next step, for a person. */
export function problemWords(error) {
  const known = Object.hasOwn(words, error.code ?? "") ? words[error.code] : null;
  if (known) return known;
  if (error.name === "CallError") {
    return "The relay gave no answer. Look at your connection, then try again.";
  }
  const [first = "", ...rest] = String(error.message);
  const text = first.toUpperCase() + rest.join("");
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

const words = {
  badPairingCode: "That code is wrong, used or too old. Ask the other device for a new one.",
  registrationClosed:
    "This relay makes no accounts by itself. Ask its owner for a pairing code.",
  tooManyRequests: "The relay asks to wait a moment. Try again in a minute.",
  tooManyDevices: "The account has as many devices as it may have. Remove one first.",
};
