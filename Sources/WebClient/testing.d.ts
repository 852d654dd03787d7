import type { AnyZones, App, Edit, EditContext, Item, LockstepRecord, RuleTable, SyncStatus,
  ZonesOf } from "./lockstep.d.ts";

export { EditError } from "./lockstep.d.ts";

type Names<T> = keyof T & string;

/** Devices of one account and their relay, in memory and in virtual time. */
export class World<Z extends ZonesOf<Z> = AnyZones> {
  constructor(options?: { rules?: RuleTable<Z> | RuleTable<Z>[]; apps?: App[] });
  /** Adds a device to the account. */
  device(name: string): TestDevice<Z>;
  cut(device: TestDevice<Z>): void;
  heal(device: TestDevice<Z>): void;
  wait(milliseconds: number): void;
  /** Exchanges changes until no device that is on the network has anything to send. */
  settle(): void;
}

/** A device that `World.device` has made. */
export interface TestDevice<Z extends ZonesOf<Z> = AnyZones> {
  readonly name: string;
  save<K extends Names<Z>, T extends Names<Z[K]>>(
    zone: K, type: T, item: Z[K][T] & { readonly id?: string }, options?: { id?: string },
  ): string;
  update<K extends Names<Z>, Fields = Z[K][Names<Z[K]>]>(
    zone: K, id: string,
    make: (item: Fields & { id: string }, context: { device: string; now: number }) => Fields,
  ): void;
  delete(zone: Names<Z>, id: string): void;
  change(make: (context: EditContext) => Edit[]): LockstepRecord[];
  records<K extends Names<Z>, T extends Names<Z[K]>>(zone: K, type: T): Item<Z[K][T]>[];
  record<K extends Names<Z>>(zone: K, id: string): Item<Z[K][Names<Z[K]>]> | null;
  readonly asking: SyncStatus["asking"];
  decide(decision: { zone: string; name: string; keepLocal: boolean }): void;
}
