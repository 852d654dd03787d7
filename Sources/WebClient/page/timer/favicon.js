/** Returns the page's icon during a countdown: the minutes left. */
export function countingIcon(minutes, { isPaused, isFocus }) {
  const ground = isPaused ? "#5b6561" : isFocus ? "#0b6b5f" : "#33507a";
  const size = minutes > 99 ? 26 : 36;
  const words = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">`,
    `<rect width="64" height="64" rx="14" fill="${ground}"/>`,
    `<text x="32" y="33" fill="#fff" font-family="system-ui,sans-serif" font-weight="700" `,
    `font-size="${size}" text-anchor="middle" dominant-baseline="central">${Number(minutes)}`,
    `</text></svg>`,
  ].join("");
  return `data:image/svg+xml,${encodeURIComponent(words)}`;
}
