/** Values for examples, where the document has none: equal members have equal values, so that the
 * examples of several calls fit together. */

const hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

const ofNames = new Map(Object.entries({
  deviceName: "laptop", platform: "linux", appVersion: "1.0", zone: "Notes", name: "shopping",
  type: "Note", recordType: "Note", subscriptionID: "notes", wakeID: "phone",
  code: "7Q2M-0XKD-94RT", fields: { text: "Milk" },
  id: "3f0c1f6e-5d0b-4d6e-9a55-0b6f3c1d2e4a", token: "Zx0uYXNrLW1l",
  endpoint: "https://push.example/send/4f2a", p256dh: "B".repeat(87), auth: "A".repeat(22),
  subscription: "notes", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  deviceID: "0f1e2d3c4b5a6978", since: null, missing: [hash],
}));

const ofSchemas = new Map(Object.entries({
  Name: "Notes", Label: "laptop", ID: "0f1e2d3c4b5a6978", Instant: 1_790_000_000_000,
  ChangeTag: 7, ChangeToken: "Zx0uYXNrLW1l", ChunkHash: hash,
}));

/** @returns {any} undefined if there is none */
export const exampleOfName = (name) => ofNames.get(name);

/** @param {string | null} name
 * @returns {any} undefined if there is none */
export const exampleOfSchema = (name) => ofSchemas.get(name);

/** Members of bodies, and parameters, that the example of a call has beside the required ones: it
 * would be refused without them, or do nothing. By operation. */
const additions = new Map(Object.entries({
  putRecord: { body: { baseTag: "any" } },
  deleteRecord: { query: { baseTag: "any" } },
  saveRecords: {
    body: {
      records: [{ name: "shopping", type: "Note", fields: { text: "Milk" }, baseTag: "any" }],
    },
  },
  putSubscription: { body: { kind: "zone", zone: "Notes" } },
}));

/** @returns {{body?: object, query?: Record<string, string>}} */
export const additionsOf = (operation) => additions.get(operation) ?? {};
