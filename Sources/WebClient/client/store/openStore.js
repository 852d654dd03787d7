import { limits } from "../limits.js";
import { IndexedStore } from "./indexedStore.js";
import { MemoryStore } from "./memoryStore.js";

/**
 * The best store that the browser has. One that refuses IndexedDB (some private windows) gets one
 * in memory, which says so; but where a store is there and cannot be read, nothing is begun beside
 * it, and the error goes on.
 */
export async function openStore(factory, name, environment) {
  if (!factory) return new MemoryStore("this browser has no store for pages");
  const nothing = "this browser keeps nothing beyond the open page";
  const { setTimer, clearTimer } = environment;
  try {
    return await IndexedStore.open(factory, { name, setTimer, clearTimer,
      milliseconds: limits.openMilliseconds });
  } catch (error) {
    if (error.code !== "refused") throw error;
    return new MemoryStore(`${nothing}: ${error.message}`);
  }
}
