import { apps } from "../apps/appCatalog.js";
import { Lockstep } from "../lockstep.js";
import { systemBrowser } from "./browser.js";
import { element } from "./components/element.js";
import {
  currentLanguage, languageFor, loadLanguage, t,
} from "./language/language.js";
import { Page } from "./page.js";
import { registerServiceWorker, ShellUpdates } from "./shell/shellUpdates.js";
import { browserName } from "./text/deviceText.js";
import { errorText } from "./text/errorText.js";
import { readAhead } from "./wakes/readAhead.js";

const place = document.getElementById("page");
// Before any wait: the shell may be updated while the store is being read.
const updates = new ShellUpdates(navigator.serviceWorker);

let loading = null;

try {
  const browser = systemBrowser();
  // While the store is being opened.
  loading = loadLanguage(languageFor(browser.choices.language, navigator.languages))
    .then(() => { document.documentElement.lang = currentLanguage(); });
  const lockstep = await Lockstep.open({ relay: location.origin, apps, readAhead,
    scrypt: (...request) => browser.keyWorker.derive(...request) });
  await loading;
  browser.push.keepLanguage(currentLanguage()).catch(() => {});
  const page = new Page(lockstep, {
    browser, place, deviceName: browserName(navigator.userAgent),
  });
  page.start();
  updates.subscribe(() => page.offerReload());
  navigator.serviceWorker?.addEventListener("message", ({ data }) => page.handleMessage(data));
  registerServiceWorker(navigator.serviceWorker);
  // Requested only if there is data to keep, because some browsers ask the person. The answer may
  // be no.
  if (lockstep.status.accountID) await browser.persist();
} catch (error) {
  await loading;
  place.replaceChildren(element("section", { class: "welcome", role: "alert" },
    element("h1", {}, t("Lockstep did not start")), element("p", {}, errorText(error)),
    element("p", {}, t("Nothing was deleted. Close other tabs of this page, then reload."))));
}
