import { referenceOf } from "./callReference.js";
import { limits } from "./limits.js";
import { ReferenceView } from "./referenceView.js";

/** Reference of the relay's calls: reads the relay's own document, and shows it. */

const list = document.getElementById("list");
const main = document.getElementById("main");
const words = document.getElementById("words");
const found = document.getElementById("found");

async function load() {
  const response = await fetch("/openapi.json", { cache: "no-cache" });
  if (!response.ok) throw new Error(`the relay answered with ${response.status}`);
  const text = await response.text();
  if (text.length > limits.documentCharacters) throw new Error("the document is too long");
  return JSON.parse(text);
}

async function show() {
  const view = new ReferenceView({
    document, list, main, found, origin: location.origin,
    copy: async (text) => navigator.clipboard.writeText(text),
    after: (milliseconds, act) => setTimeout(act, milliseconds),
  });
  view.show(referenceOf(await load()));
  words.addEventListener("input", () => view.search(words.value));
  addEventListener("hashchange", () => reveal(view));
  // A browser restores what was typed when a person comes back.
  view.search(words.value);
  reveal(view);
}

/** Shows the call that the address names, also if the search hides it. */
function reveal(view) {
  // The ids of calls are words of letters, which an address does not encode.
  const id = location.hash.slice(1);
  if (!view.has(id)) return;
  if (!view.isShown(id)) {
    words.value = "";
    view.search("");
  }
  document.getElementById(id).scrollIntoView();
}

addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  words.focus();
});

show().catch((fault) => {
  const wait = document.getElementById("wait");
  if (!wait) throw fault;
  wait.setAttribute("role", "alert");
  wait.textContent = `The document could not be read: ${fault.message}. Load the page again, or `
    + "open /openapi.json.";
});
