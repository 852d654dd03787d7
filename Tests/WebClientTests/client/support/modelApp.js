import { equal } from "../../../../Sources/WebClient/json/jsonValue.js";
import { MergeRules } from "../../../../Sources/WebClient/model/mergeRules.js";

/**
 * Rules that make losses visible: a `Set` joins the items of both sides; a `Note` keeps the newer
 * text, and the other as a copy; `Fields` are merged one by one, against the base; of a `Solo`,
 * which only one device edits, the newer wins; a `Choice` asks. An `Echo` keeps the newer, and the
 * other as a copy whose name is not unique. A `Table` has its rules as data, and so has a `Poll`,
 * which asks.
 */
export const modelApp = {
  zone: "Model",
  rules: {
    Table: MergeRules.of({ fields: { items: "set", text: "keepBoth", least: "least" } }),
    Poll: MergeRules.of({ conflict: "ask" }),
  },
  resolvers: {
    Set: {
      resolve({ local, server }) {
        if (local.deleted || server.deleted) {
          return { merged: local.fields ?? server.fields, copies: [] };
        }
        const items = new Set([...local.fields.items, ...server.fields.items]);
        return { merged: { items: [...items].sort() }, copies: [] };
      },
    },
    Note: {
      resolve({ base, local, server }) {
        if (local.deleted || server.deleted) {
          return { merged: local.fields ?? server.fields, copies: [] };
        }
        const [text, other, was] = [local, server, base].map((side) => side?.fields?.text);
        if (text === other || other === was) return { merged: local.fields, copies: [] };
        if (text === was) return { merged: server.fields, copies: [] };
        const [kept, lost] = isNewer(local, server) ? [local, server] : [server, local];
        const name = `${local.name}~${lost.device}-${lost.modifiedAt}`;
        return { merged: kept.fields, copies: [{ name, fields: lost.fields }] };
      },
    },
    Fields: {
      resolve({ base, local, server }) {
        if (local.deleted || server.deleted) {
          return { merged: local.fields ?? server.fields, copies: [] };
        }
        const newer = isNewer(local, server) ? local : server;
        const merged = {};
        for (const name of Object.keys({ ...server.fields, ...local.fields })) {
          const [ours, theirs, was] = [local, server, base].map((side) => side?.fields?.[name]);
          let value = Object.hasOwn(newer.fields, name) ? newer.fields[name] : ours ?? theirs;
          if (base && equal(ours, was)) value = theirs;
          else if (base && equal(theirs, was)) value = ours;
          if (value !== undefined) merged[name] = value;
        }
        return { merged, copies: [] };
      },
    },
    Solo: {
      resolve({ local, server }) {
        return { merged: (isNewer(local, server) ? local : server).fields, copies: [] };
      },
    },
    Echo: {
      resolve({ local, server }) {
        const [kept, lost] = isNewer(local, server) ? [local, server] : [server, local];
        const copy = { name: "echo", fields: lost.fields };
        return { merged: kept.fields, copies: equal(kept.fields, lost.fields) ? [] : [copy] };
      },
    },
    Choice: { resolve: () => ({ ask: true }) },
  },
};

function isNewer(local, server) {
  return local.modifiedAt !== server.modifiedAt
    ? local.modifiedAt > server.modifiedAt : local.device > server.device;
}

const edit = (type) => (name, fields) => ({ zone: "Model", name, type, fields });

export const set = (name, ...items) => edit("Set")(name, { items });
export const note = (name, text) => edit("Note")(name, { text });
export const echo = (name, text) => edit("Echo")(name, { text });
export const choice = (name, title) => edit("Choice")(name, { title });
export const fieldsOf = edit("Fields");
export const table = edit("Table");
export const poll = edit("Poll");
