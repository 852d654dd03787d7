import { count } from "../status/format.js";

/** Returns a number with its noun: `1 record`, `2,000 records`. */
export const amount = (value, noun) => `${count(value)} ${value === 1 ? noun : `${noun}s`}`;
