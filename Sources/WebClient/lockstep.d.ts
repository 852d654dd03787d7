// Types of the package. `Zones` names the app's record types by zone:
//
//     type Zones = { Todos: { Todo: { title: string; done: boolean } } };
//     const lockstep = await Lockstep.open<Zones>({ relay, rules });

/** Any zones, for an app without types. */
export type AnyZones = { [zone: string]: { [type: string]: { [field: string]: any } } };

/** Constraint of `Zones`: objects by zone and record type. */
export type ZonesOf<Z> = { [K in keyof Z]: { [T in keyof Z[K]]: object } };

/** Rule of a field: docs/rules.md has all of them. */
export type FieldRule =
  | "newest" | "greatest" | "least" | "or" | "and" | "counter" | "set" | "map" | "greatestEach"
  | "keepBoth";

/** Merge rules of a record type. `"*"`: of all fields without a rule; `newest` if it is missing. */
export interface TypeRules<Fields = any> {
  fields?: { [name in keyof Fields & string]?: FieldRule } & { "*"?: FieldRule };
  /** A live version against a deleted one; `changeWins` if it is missing. */
  delete?: "changeWins" | "deleteWins" | "newest";
  /** A person decides every conflict. */
  conflict?: "ask";
}

/** Merge rules of the record types of a zone. */
export type RuleTable<Z extends ZonesOf<Z> = AnyZones> = {
  [K in keyof Z & string]: {
    zone: K;
    types: { [T in keyof Z[K] & string]?: TypeRules<Z[K][T]> };
  };
}[keyof Z & string];

/** The fields of a record, and its name. Frozen, with all that it holds. */
export type Item<Fields> = Readonly<Fields> & { readonly id: string };

/** A record with its stamps. Frozen, with all that it holds. `fields` is null only where a deleted
 * record is reported. */
export interface LockstepRecord<Fields = any> {
  readonly zone: string;
  readonly name: string;
  readonly type: string;
  readonly fields: Readonly<Fields>;
  /** Relay time of the last edit, milliseconds. */
  readonly modifiedAt: number;
  /** Device of the last edit. */
  readonly device: string;
  /** The relay's version; 0 if it has none yet. */
  readonly tag: number;
  readonly deleted: boolean;
}

/** An edit of one record, for `Lockstep.change`. */
export interface Edit<Fields = any> {
  zone: string;
  name: string;
  type: string;
  /** null deletes the record. */
  fields: Fields | null;
  /** Relay time of the action, if the fields contain it too. */
  stamp?: number;
}

/** What `make` of a change reads: the records as they are then. */
export interface EditContext {
  record(zone: string, name: string): LockstepRecord | null;
  records(zone?: string, type?: string): LockstepRecord[];
  /** The record's next `modifiedAt`. */
  stamp(zone: string, name: string): number;
  /** Relay time, milliseconds. */
  readonly now: number;
  /** Id of this device; sixteen zeros before it has joined an account. */
  readonly device: string;
}

/** Selection and order of a live query. */
export interface LiveOptions<Fields> {
  where?: (item: Item<Fields>) => boolean;
  /** A field, or a comparison. Items of one rank are in the order of their ids. */
  sortBy?: (keyof Fields & string) | "id"
    | ((left: Item<Fields>, right: Item<Fields>) => number);
}

/** Last change of a record since the iterator was read. */
export type Change<Fields> =
  | { readonly kind: "saved"; readonly id: string; readonly item: Item<Fields> }
  | { readonly kind: "deleted"; readonly id: string };

/** `needsPerson`: in sync, except for `parked`, `asking` or unreadable records, or locked or
 * blocked zones. `plan`: the account's plan includes nothing. `failed`: stopped until a person acts
 * on `reason`. */
export type SyncState =
  | "needsPairing" | "syncing" | "inSync" | "needsPerson" | "offline" | "plan" | "failed"
  | "closed";

/** Sync status of the device, for a person. */
export interface SyncStatus {
  readonly state: SyncState;
  /** Reason of the state, for a person. */
  readonly reason: string | null;
  /** The same for programs: the code of a refusal, or `network`, `transport`, `lost`, `barred`,
   * `store`, `notPaired` or `closed`. */
  readonly reasonCode: string | null;
  /** Relay time since which the device is offline. */
  readonly since: number | null;
  /** Changes that the relay does not have yet. */
  readonly waiting: number;
  /** Relay time of the last sync. */
  readonly lastSync: number | null;
  readonly transport: "websocket" | "events" | "long-poll" | "poll" | null;
  readonly parked: readonly { zone: string; name: string; refusal: Refusal }[];
  readonly parkedCount: number;
  readonly asking: readonly {
    zone: string;
    name: string;
    local: { type: string; fields: any; modifiedAt: number };
    server: LockstepRecord;
  }[];
  readonly askingCount: number;
  readonly setAsideCount: number;
  /** Sealed records at the relay that this device cannot open. */
  readonly unreadableCount: number;
  /** True if the account has keys that this device does not have. To get them, join again with a
   * whole code of a device that has them. */
  readonly needsKeys: boolean;
  /** Zones that are sealed with such keys: the device shows and sends nothing new of them. */
  readonly lockedZones: readonly string[];
  readonly blockedZones: readonly string[];
  /** Zones with changes that `scope` does not let this device make; they stay here. */
  readonly zonesOutOfScope: readonly string[];
  readonly clockOffset: number | null;
  /** False if everything is lost when the page closes, for `storeReason`. */
  readonly isDurable: boolean;
  readonly storeReason: string | null;
  readonly accountID: string | null;
  readonly deviceID: string | null;
  /** Part of the account that this device may use; null: everything, or no account yet. */
  readonly scope: Scope | null;
}

/** Event of `Lockstep.subscribe`. A deleted record has no fields. */
export type LockstepEvent =
  | { readonly kind: "changed"; readonly records: readonly LockstepRecord[] }
  | { readonly kind: "status"; readonly status: SyncStatus };

/** Description of this device for the account's other devices. */
export interface DeviceDescription {
  deviceName: string;
  platform?: string;
  appVersion?: string;
}

/** Part of an account that a device may use, fixed by its pairing code. */
export interface Scope {
  /** All zones if it is missing. */
  readonly zones?: readonly string[];
  readonly access: "read" | "write";
}

/** Limits of a device that joins with a code; what is missing is that of the device that asks. */
export interface PairingOptions {
  /** 1 to 16 names. */
  zones?: readonly string[];
  access?: "read" | "write";
  /** Seconds for which the code is valid, 10 to 600. Does not limit the device. */
  expiresIn?: number;
}

/** Code for another device. */
export interface PairingCode {
  /** What a person types on the other device: 12 letters, or 24 if the code carries keys. */
  code: string;
  /** The first 12 letters, for a link, followed by `&keys` if there are more. `join` takes it as it
   * is, and asks for the rest. */
  linkCode: string;
  expiresAt: number;
  /** What that device may use; missing if it is everything. */
  scope?: Scope;
}

/** Options of `Lockstep.join`. */
export interface JoinOptions {
  /** Asks the person for the second half of the code, if it opens the account's keys, and was not
   * given (`isWrong` is false) or is wrong. Resolves with what the person types, or with null to
   * give up. Without it, or after the last try, the join is rejected. */
  askSecondHalf?: (question: { isWrong: boolean; triesLeft: number }) => Promise<string | null>;
  /** Seals the account if the relay's owner has made it, and nobody has used it yet. Show the person
   * `recoveryPhrase` then. */
  isSealed?: boolean;
}

/** Parameters of scrypt: N, r and p of RFC 7914 are `cost`, `blocks` and `lanes`. */
export interface ScryptParameters {
  salt: Uint8Array;
  cost: number;
  blocks: number;
  lanes: number;
  /** Bytes of the result. */
  count: number;
}

/** A device of the account, as the relay has it. */
export interface Device {
  deviceID: string;
  deviceName: string;
  platform: string;
  connected?: boolean;
  /** Missing if the device may use the whole account. */
  scope?: Scope;
  [member: string]: unknown;
}

/** Subscription of the Push API: a `PushSubscription`, or its JSON. */
export type WakeSubscription =
  | { toJSON(): WakeSubscriptionJSON }
  | WakeSubscriptionJSON;

/** JSON of a `PushSubscription`. */
export interface WakeSubscriptionJSON {
  endpoint?: string;
  expirationTime?: number | null;
  keys?: { [name: string]: string };
}

/** State of a registration for wakes. Times are relay time, milliseconds. */
export interface Wake {
  id: string;
  kind: "webpush";
  /** The relay wakes the device only once the registration is verified. */
  state: "unverified" | "verified";
  verifiedAt?: number;
  /** Last wake that the push service accepted. */
  sentAt?: number;
  /** Last contact of this device after a wake. */
  answeredAt?: number;
  /** Reason for which the last push failed. */
  error?: "rejected" | "keyRefused" | "throttled" | "unavailable" | "notAllowed";
}

/** Reason of the relay: `code` for programs, `detail` for a person. */
export interface Refusal {
  code: string;
  detail: string;
  retryAfterMilliseconds?: number;
}

/** The relay refused a request. `code` is a word of docs/protocol.md. */
export class RefusedError extends Error {
  readonly code: string;
  readonly refusal: Refusal;
}

/** A request without an answer; it may be repeated. */
export class CallError extends Error {
  readonly kind: "unreachable" | "unanswered" | "closed";
}

/** An edit that was not made, or a wrong argument; nothing was changed. docs/page-client.md lists
 * the codes. */
export class EditError extends Error {
  readonly code: string;
}

/** A file that could not be sent or read. */
export class FileError extends Error {
  readonly code: "aborted" | "tooLarge" | "noKeys" | "missing" | "damaged" | "unreadable";
}

/** A store that cannot be used. */
export class StoreError extends Error {
  readonly code:
    | "full" | "deposed" | "newer" | "refused" | "closed" | "inUse" | "failed";
}

/** A table of rules that cannot be used. */
export class RuleFault extends Error {}

/** Version of a record for a rule in code. */
export interface Version<Fields = any> {
  name: string;
  fields: Fields | null;
  modifiedAt: number;
  device: string;
  deleted: boolean;
}

/** A rule in code: it must give the same outcome on every device, and with local and server
 * swapped. */
export interface Resolver<Fields = any> {
  resolve(conflict: {
    type: string;
    base: Version<Fields> | null;
    local: Version<Fields>;
    server: Version<Fields>;
  }): { merged: Fields | null; copies?: { name: string; fields: Fields }[] } | { ask: true };
  takesNewestStamp?: boolean;
}

/** Rules in code of one zone. */
export interface App {
  zone: string;
  resolvers: { [type: string]: Resolver };
}

/** Content of a file, for a field of a record. */
export interface FileReference {
  readonly name: string;
  readonly bytes: number;
  readonly chunks: readonly string[];
  /** Keys that seal the content; missing if the zone is not sealed. */
  readonly seal?: { readonly zone: string; readonly key: string };
}

/** Options of a transfer. */
export interface TransferOptions {
  signal?: AbortSignal;
  onProgress?: (progress: { doneBytes: number; totalBytes: number }) => void;
}

/** Content of files that records name. All calls need the relay. */
export interface Files {
  /** Largest file in bytes. */
  readonly bytesMax: number;
  /** Sends what the relay lacks of the content, sealed if the zone is. Save a record with `file`
   * within a day. `isCutByContent`: so that a small change of a large file sends little. */
  upload(
    zone: string, blob: Blob,
    options?: TransferOptions & { name?: string; isCutByContent?: boolean },
  ): Promise<{ file: FileReference; chunks: string[]; sha256: string; parts: string }>;
  /** Fetches the content, and checks it. `type` of the blob: `application/octet-stream` if it is
   * missing. `open`: opens chunks that were sealed in another way, null if one does not open. */
  download(
    zone: string, file: FileReference & { readonly sha256?: string },
    options?: TransferOptions & {
      type?: string;
      open?: (chunk: Uint8Array) => Uint8Array | null;
    },
  ): Promise<Blob>;
  /** Returns those of the chunks that the relay does not have. */
  missing(
    zone: string, chunks: readonly string[], options?: { signal?: AbortSignal },
  ): Promise<string[]>;
  /** True if the files of the zone are sealed. */
  isSealed(zone: string): Promise<boolean>;
}

/** Where a client keeps its data. */
export interface Store {
  open(): Promise<object>;
}

/** A store that lasts as long as the client. */
export function memoryStore(): Store;

/** Options of `Lockstep.open`. */
export interface Options<Z extends ZonesOf<Z> = AnyZones> {
  /** `http(s)://host[:port]` */
  relay: string;
  /** One table for each zone. */
  rules?: RuleTable<Z> | RuleTable<Z>[];
  /** Rules in code. */
  apps?: App[];
  /** IndexedDB if it is missing; in Node.js, memory. */
  store?: Store;
  /** Name of the store in the browser; two names are two devices. */
  name?: string;
  /** Best first. */
  transports?: ("websocket" | "events" | "long-poll" | "poll")[];
  /** Returns the answers to `GET /v1/changes` that a service worker has read for the device, as
   * texts, oldest first. They are applied before the device is connected. */
  readAhead?: (deviceID: string) => Promise<string[]>;
  /** Computes the key of a code's second half elsewhere, as in a worker
   * (`sealing/scryptWorker.js`). Without it, the thread is blocked for a part of a second. */
  scrypt?: (password: Uint8Array, parameters: ScryptParameters) => Promise<Uint8Array>;
}

type Names<T> = keyof T & string;

/** A device of an account: local first, in sync with the relay. */
export class Lockstep<Z extends ZonesOf<Z> = AnyZones> {
  private constructor();
  static open<Z extends ZonesOf<Z> = AnyZones>(options: Options<Z>): Promise<Lockstep<Z>>;

  /** Writes the whole record. Resolves with its id once it is in the store. */
  save<K extends Names<Z>, T extends Names<Z[K]>>(
    zone: K, type: T, item: Z[K][T] & { readonly id?: string }, options?: { id?: string },
  ): Promise<string>;
  /** `make` may be called more than once, and must have no side effects. */
  update<K extends Names<Z>, Fields = Z[K][Names<Z[K]>]>(
    zone: K, id: string,
    make: (item: Fields & { id: string }, context: { device: string; now: number }) => Fields,
  ): Promise<void>;
  delete(zone: Names<Z>, id: string): Promise<void>;

  record<K extends Names<Z>>(zone: K, id: string): LockstepRecord<Z[K][Names<Z[K]>]> | null;
  records<K extends Names<Z>, T extends Names<Z[K]>>(zone: K, type: T): LockstepRecord<Z[K][T]>[];
  records(zone?: Names<Z>): LockstepRecord[];

  /** Snapshots of the items, each time they have changed. */
  live<K extends Names<Z>, T extends Names<Z[K]>>(
    zone: K, type: T, options?: LiveOptions<Z[K][T]>,
  ): AsyncIterableIterator<Item<Z[K][T]>[]>;
  changes<K extends Names<Z>, T extends Names<Z[K]>>(
    zone: K, type: T,
  ): AsyncIterableIterator<Change<Z[K][T]>>;

  /** Several edits at once; all are made or none. */
  change(make: (context: EditContext) => Edit[]): Promise<LockstepRecord[]>;
  decide(decision: { zone: string; name: string; keepLocal: boolean }): Promise<LockstepRecord>;
  subscribe(listener: (event: LockstepEvent) => void): () => void;

  readonly status: SyncStatus;
  /** The status without flicker: "inSync" once it has lasted. */
  readonly statusUpdates: AsyncIterableIterator<SyncStatus>;
  /** Relay time, milliseconds. */
  readonly now: number;
  syncNow(): Promise<SyncStatus>;

  /** `isSealed`: the relay cannot read the account's records; false if it is missing. */
  createAccount(device: DeviceDescription, options?: { isSealed?: boolean }): Promise<void>;
  /** Only the first 12 letters of the code are sent. Further 12 letters open the keys that the
   * code carries, if the account is sealed. A device that `needsKeys`, or that was removed, joins
   * its account again with a code of that account, and keeps what it has. */
  join(code: string, device: DeviceDescription, options?: JoinOptions): Promise<void>;
  /** A code for another device. */
  issueCode(options?: PairingOptions): Promise<PairingCode>;
  /** Six words that are the same on all devices with the account's keys, for a person to compare;
   * null if this device does not have them. */
  checkWords(): Promise<string | null>;
  /** 17 words that open the account after the loss of all devices; null if this device does not
   * have the account's keys. They are others after a device was removed. */
  recoveryPhrase(): Promise<string | null>;
  /** Gets the account's keys from its recovery phrase, on a device that joined without them. Rejected
   * with the code `badPhrase` if the words are no phrase, or not that of the keys in use. */
  restoreKeys(phrase: string): Promise<void>;
  devices(): Promise<Device[]>;
  knownDevices(): Promise<{ deviceID: string; deviceName: string; platform: string }[]>;
  rename(deviceID: string, deviceName: string): Promise<unknown>;
  /** Removes a device. In a sealed account, the other devices get new keys first; `pairAgain` has
   * those that cannot get them. */
  revoke(deviceID: string): Promise<{ pairAgain: Device[] }>;
  signOut(options?: { discardUnsent?: boolean; offline?: boolean }): Promise<void>;

  /** False if `createAccount` would be refused: the relay's owner makes the accounts. */
  acceptsAccounts(): Promise<boolean>;
  /** Key of the relay for `PushManager.subscribe`; null if the relay wakes no devices. */
  wakeKey(): Promise<string | null>;
  /** Asks the relay to wake this device by the subscription. The first push contains a code. `id`:
   * `page` if it is missing. `notification`: what a browser with Declarative Web Push shows for a
   * wake if it did not run the worker; `navigate` is the https URL that a click opens. The client
   * renews no subscription by itself: register again when the browser has another one, or `wakeKey`
   * has changed. */
  registerWake(
    subscription: WakeSubscription, id?: string,
    options?: { notification?: { title: string; navigate: string } | null },
  ): Promise<void>;
  /** Sends back the code of the first push. */
  verifyWake(id: string, code: string): Promise<void>;
  removeWake(id?: string): Promise<void>;
  wakes(): Promise<Wake[]>;

  readonly files: Files;
  unsent(): Promise<{ zone: string; name: string; type: string; fields: any }[]>;
  /** Ends all iterators. Resolves once the store is closed. */
  close(): Promise<void>;
}

/** The value of a field with the rule `counter`. */
export type Counter = { [device: string]: [up: number, down: number] };
/** Returns the sum of all that was counted. */
export function counterValue(value: Counter | undefined): number;
/** Returns the counter after the device has counted `by` more. */
export function counterAdded(value: Counter | undefined, device: string, by: number): Counter;

/** A number of which a JavaScript number would lose a digit. */
export interface ExactNumber {
  readonly text: string;
  readonly exact: bigint;
}
/** Returns the value of a JSON number's text: a JavaScript number if that loses no digit. */
export function numberOf(text: string): number | ExactNumber;
/** Returns a number's text in canonical form; undefined if the value is not a number. */
export function numberText(value: unknown): string | undefined;
/** True if two values are the same JSON: numbers by value, members in any order. */
export function equal(left: unknown, right: unknown): boolean;
/** Returns the canonical JSON of a value: equal values have the same text. */
export function serialize(value: unknown): string;

/** Version of this package. */
export const version: string;
