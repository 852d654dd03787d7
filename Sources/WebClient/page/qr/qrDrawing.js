import { svgElement } from "../components/element.js";

/** Width of the light border that a reader needs, in modules. */
const quiet = 4;

/** Draws a QR code dark on light, whatever the page's colours are. */
export function qrDrawing(rows, label) {
  const size = rows.length + 2 * quiet;
  const path = rows.flatMap((row, top) => row.map((isDark, left) =>
    (isDark ? `M${left + quiet} ${top + quiet}h1v1h-1z` : ""))).join("");
  return svgElement("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": label,
    "shape-rendering": "crispEdges" },
  svgElement("path", { d: `M0 0h${size}v${size}H0z`, fill: "#fff" }),
  svgElement("path", { d: path, fill: "#000" }));
}
