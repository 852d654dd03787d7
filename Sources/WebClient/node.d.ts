import type { Store } from "./lockstep.d.ts";

export * from "./lockstep.d.ts";

/** A store in one file, which survives a crash. One process may have it open. */
export function fileStore(path: string): Store;
