import { counterAdded } from "../../../../Sources/WebClient/model/counter.js";
import { MergeRules } from "../../../../Sources/WebClient/model/mergeRules.js";

/** A small app with rules that show what a merge has done: of a `Note` the newer text stays; a
 * `Counter` counts the edits of each device; of a `Draft` the newer stays, and the other as a copy;
 * a `Choice` asks. A `Table` has its rules as data. */
export const desk = {
  zone: "Desk",
  rules: { Table: MergeRules.of({ fields: { edits: "counter", words: "set" } }) },
  resolvers: {
    Note: {
      takesNewestStamp: true,
      resolve: (conflict) => ({ merged: newer(conflict).fields, copies: [] }),
    },
    Counter: {
      resolve({ local, server }) {
        const merged = { ...local.fields };
        for (const [device, count] of Object.entries(server.fields ?? {})) {
          merged[device] = Math.max(merged[device] ?? 0, count);
        }
        return { merged, copies: [] };
      },
    },
    Draft: {
      resolve({ base, local, server }) {
        // A side that changed nothing is not kept beside the other.
        if (base && base.fields?.text === local.fields?.text) {
          return { merged: server.fields, copies: [] };
        }
        if (base && base.fields?.text === server.fields?.text) {
          return { merged: local.fields, copies: [] };
        }
        const kept = newer({ local, server });
        const other = kept === local ? server : local;
        const isCopied = other.fields !== null && other.fields.text !== kept.fields?.text;
        const name = `${other.name}~${other.device}-${other.modifiedAt}`;
        return { merged: kept.fields, copies: isCopied ? [{ name, fields: other.fields }] : [] };
      },
    },
    Choice: { resolve: () => ({ ask: true }) },
  },
};

function newer({ local, server }) {
  if (local.modifiedAt !== server.modifiedAt) {
    return local.modifiedAt > server.modifiedAt ? local : server;
  }
  return local.device > server.device ? local : server;
}

export const note = (name, text) => ({ name, type: "Note", fields: { text } });
export const draft = (name, text) => ({ name, type: "Draft", fields: { text } });
export const choice = (name, text) => ({ name, type: "Choice", fields: { text } });
export const deletion = (name) => ({ name, type: "Note", fields: null });

/** Adds a word, writes it into the device's own field, and counts the edit. */
export const row = (name, word) => ({ record, device }) => {
  const fields = record(desk.zone, name)?.fields ?? {};
  return { zone: desk.zone, name, type: "Table", fields: { ...fields, [device]: word,
    words: [...fields.words ?? [], word], edits: counterAdded(fields.edits, device, 1) } };
};

/** Counts one more edit of the device that makes it. */
export const count = (name) => ({ record, device }) => {
  const fields = record(desk.zone, name)?.fields ?? {};
  return { zone: desk.zone, name, type: "Counter",
    fields: { ...fields, [device]: (fields[device] ?? 0) + 1 } };
};
