import { field } from "../components/controls.js";
import { element } from "../components/element.js";
import { languages, t } from "../language/language.js";

/**
 * Returns a field to choose the page's language. Each language has its own name, so that a person
 * finds it who cannot read the present one.
 *
 * @param {import("../deviceChoices.js").DeviceChoices} choices
 * @param {() => void} reload shows the page in the other language
 */
export function languageField(choices, reload) {
  const select = element("select", { autocomplete: "off", on: { change: () => {
    choices.language = select.value === "" ? null : select.value;
    reload();
  } } },
  element("option", { value: "" }, t("Browser's language")),
  languages.map(({ language, ownName }) =>
    element("option", { value: language, lang: language }, ownName)));
  select.value = languages.some(({ language }) => language === choices.language)
    ? choices.language : "";
  const node = field(t("Language"), select);
  node.classList.add("language");
  return node;
}
