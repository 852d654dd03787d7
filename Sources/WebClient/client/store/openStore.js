import { limits } from "../limits.js";
import { IndexedStore } from "./indexedStore.js";
import { MemoryStore } from "./memoryStore.js";

/**
 * Opens the best store that the browser has. If the browser refuses IndexedDB (some private
 * windows), opens one in memory, which reports the reason. If a store exists and cannot be read,
 * throws the error and makes no other store.
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
