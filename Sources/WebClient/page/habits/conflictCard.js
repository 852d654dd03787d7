import { button, newID } from "../components/controls.js";
import { element } from "../components/element.js";

/** Card for a habit with a conflict, which only the person resolves. */
export function conflictCard({ title, local, cloud }, keep) {
  const id = newID("conflict");
  return element("section", { class: "card conflict", "aria-labelledby": id },
    element("h2", { id }, `“${title}” was changed in two places`),
    element("p", { class: "muted" }, "Which version shall stay, on all devices?"),
    element("div", { class: "versions" },
      version(local, () => keep("local")), version(cloud, () => keep("cloud"))));
}

function version({ place, title, aim, from }, act) {
  return element("div", { class: "version" },
    element("p", { class: "muted small" }, place),
    element("p", { class: "version-title" }, title),
    element("p", {}, aim),
    element("p", { class: "muted small" }, from),
    button("Keep this", act, { "aria-label": `Keep “${title}”, ${place.toLowerCase()}` }));
}
