import { scrypt } from "./scrypt.js";

// Worker that computes scrypt for a page, so that the page goes on meanwhile. Receives `{password,
// parameters}`; posts `{done}`, the part that is done, and at the end `{key}`.

globalThis.onmessage = ({ data: { password, parameters } }) => {
  const key = scrypt(password, parameters, (done) => globalThis.postMessage({ done }));
  globalThis.postMessage({ key });
};
