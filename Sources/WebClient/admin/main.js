import { systemBrowser } from "./browser.js";
import { OwnerPage } from "./ownerPage.js";

new OwnerPage(systemBrowser(), document.getElementById("page")).start();
