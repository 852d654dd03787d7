/** Lockstep for Node.js and Deno: the same as in a browser, and a store in a file. */
export * from "./lockstep.js";
export { fileStore } from "./node/fileStore.js";
