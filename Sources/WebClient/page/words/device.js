const browsers = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"], [/\bOPR\//, "Opera"], [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/Chrom(?:e|ium)\/|\bCriOS\//, "Chrome"], [/\bSafari\//, "Safari"],
];
const systems = [
  [/\biPhone\b/, "iPhone"], [/\biPad\b/, "iPad"], [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"], [/\bMac OS X\b/, "Mac"], [/\bCrOS\b/, "Chromebook"],
  [/\bLinux\b/, "Linux"],
];

/** Returns a default name for a browser in the account's list, until a person changes it. */
export function browserName(userAgent) {
  const [browser, system] = [browsers, systems].map((list) =>
    list.find(([sign]) => sign.test(userAgent))?.[1]);
  if (!browser) return system ? `Browser on ${system}` : "Browser";
  return system ? `${browser} on ${system}` : browser;
}
