import assert from "node:assert/strict";
import { equal, members, serialize, setting } from "../../../Sources/WebClient/json/jsonValue.js";
import { compareText } from "../../../Sources/WebClient/json/utf8.js";
import { MergeRules } from "../../../Sources/WebClient/model/mergeRules.js";
import { ruleResolver } from "../../../Sources/WebClient/model/ruleResolver.js";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";
import { SeededRandom } from "./seededRandom.js";

const fieldsOf = Object.entries({
  title: "newest", note: "keepBoth", due: "least", top: "greatest", done: "or", ok: "and",
  tags: "set", extra: "map", count: "counter", best: "greatestEach",
});
const rules = new MergeRules({ fields: fieldsOf });
const resolver = ruleResolver(rules);
const names = ["mac", "phone", "电脑", "web-1", "é"];
const nothing = { set: [], map: {}, counter: {}, greatestEach: {} };

/**
 * One record that several devices edit, offline and online, and a relay that orders their saves. At
 * the end every field must have the value that the whole history demands, in whatever order the
 * versions arrived.
 *
 * The model keeps, beside each version, the edits that its author had seen. It does not use the
 * stamps that the rules keep.
 */
export class RuleHistory {
  #random;
  /** Edits of a field, or of an element or a member of it: `{time, device, field, part, value,
   * seen}`. `seen`: numbers of the edits that the author had seen. */
  #edits = [];
  #devices;
  #server = { version: null, seen: new Set() };
  #tag = 0;
  #clock = 1_790_000_000_000;
  #copies = [];

  constructor(seed) {
    this.#random = new SeededRandom(seed);
    this.#devices = names.slice(0, 2 + this.#below(4)).map((id) =>
      ({ id, base: this.#server, baseTag: 0, local: this.#server, isDirty: false }));
  }

  /** Plays one history. Throws the first difference. */
  static play(seed) {
    const history = new RuleHistory(seed);
    const count = 6 + history.#below(30);
    for (let step = 0; step < count; step += 1) history.#step();
    history.#settle();
    history.#check();
  }

  #below(count) { return this.#random.below(count); }

  #step() {
    const device = this.#devices[this.#below(this.#devices.length)];
    // Clocks differ, so that an edit made after seeing another may have the earlier clock.
    this.#clock += this.#below(3);
    const draw = this.#below(10);
    if (draw < 5) this.#edit(device);
    else if (draw < 7) this.#fetch(device);
    else this.#save(device);
  }

  // edits

  #edit(device) {
    const current = device.local.version;
    const before = current ? withoutStamps(current.fields) : {};
    const newest = current ? Number(rules.newestStamp(current).time) + 1 : 0;
    const time = Math.max(this.#clock + this.#below(5) - 2, newest);
    let fields = before;
    for (let left = this.#below(3); left >= 0; left -= 1) {
      const [name, rule] = fieldsOf[this.#below(fieldsOf.length)];
      fields = setting(fields, { [name]: this.#newValue(rule, fields[name], device.id) });
    }
    if (equal(fields, before)) return;
    const seen = this.#record(fields, before, device, time);
    const stamped = rules.stamped(fields, current, { time: BigInt(time), device: device.id });
    device.local = { seen, version: {
      name: "record", fields: stamped, modifiedAt: time, device: device.id } };
    device.isDirty = true;
  }

  #newValue(rule, old, device) {
    const small = this.#below(5);
    switch (rule) {
      case "keepBoth":
        return this.#below(6) === 0 ? undefined : `text ${this.#below(1_000_000)}`;
      case "or": case "and": return this.#below(8) === 0 ? undefined : this.#below(2) === 0;
      case "set": {
        const rest = (old ?? []).filter((it) => it !== small);
        return rest.length < (old ?? []).length ? rest : [...rest, small];
      }
      case "map": {
        const name = ["k", "l", "é"][this.#below(3)];
        return setting(old, { [name]: this.#below(3) === 0 ? undefined : small });
      }
      case "counter": {
        const [up, down] = old?.[device] ?? [0, 0];
        return setting(old, { [device]: this.#below(2) === 0 ? [up + 1, down] : [up, down + 2] });
      }
      case "greatestEach": {
        const name = ["p", "q"][this.#below(2)];
        return setting(old, { [name]: (old?.[name] ?? 0) + 1 });
      }
      default:
        if (this.#below(6) === 0) return undefined;
        return this.#below(8) === 0 ? "text" : small;
    }
  }

  /** Records the differences of two versions as edits; returns the edits that the new one has
   * seen. */
  #record(fields, before, device, time) {
    const { seen } = device.local;
    const now = new Set(seen);
    const add = (field, part, value) => {
      now.add(this.#edits.length);
      this.#edits.push({ time, device: device.id, field, part, value, seen });
    };
    for (const [name, rule] of fieldsOf) {
      if (equal(fields[name], before[name])) continue;
      if (rule !== "set" && rule !== "map") {
        add(name, "", fields[name]);
        continue;
      }
      const [fresh, old] = [fields, before].map((it) => partsOf(it[name]));
      for (const part of new Set([...fresh.keys(), ...old.keys()])) {
        if (!equal(fresh.get(part), old.get(part))) add(name, part, fresh.get(part));
      }
    }
    return now;
  }

  // sync

  #fetch(device) {
    const there = this.#server;
    if (device.baseTag === this.#tag || !there.version) return;
    const { base, local } = device;
    Object.assign(device, { base: there, baseTag: this.#tag });
    if (!device.isDirty) {
      device.local = there;
      return;
    }
    const fields = this.#resolve(
      { base: base.version, local: local.version, server: there.version });
    const modifiedAt = Math.max(local.version.modifiedAt, there.version.modifiedAt);
    device.local = { seen: new Set([...local.seen, ...there.seen]),
      version: { ...local.version, fields, modifiedAt } };
    if (equal(fields, there.version.fields)) {
      Object.assign(device, { local: there, isDirty: false });
    }
  }

  /** Resolves a conflict both ways round, and twice. */
  #resolve(conflict) {
    const { local, server } = conflict;
    const { merged, copies } = resolver.resolve(conflict);
    const exchanged = resolver.resolve({ ...conflict, local: server, server: local });
    assert.equal(serialize(exchanged), serialize({ merged, copies }), "exchanged");
    const outcome = { ...local, fields: merged,
      modifiedAt: Math.max(local.modifiedAt, server.modifiedAt) };
    const saved = resolver.resolve({ base: server, local: outcome, server });
    assert.equal(serialize(saved), serialize({ merged, copies: [] }), "the outcome stays");
    this.#copies.push(...copies.map(({ fields }) => fields));
    return merged;
  }

  #save(device) {
    if (!device.isDirty) return;
    if (device.baseTag !== this.#tag) {
      this.#fetch(device);
      return;
    }
    this.#tag += 1;
    this.#server = device.local;
    Object.assign(device, { base: this.#server, baseTag: this.#tag, isDirty: false });
  }

  #settle() {
    for (let round = 0; round < 2; round += 1) {
      for (const device of this.#devices) {
        this.#fetch(device);
        this.#save(device);
      }
    }
    for (const device of this.#devices) this.#fetch(device);
  }

  // the demand

  #check() {
    const { version } = this.#server;
    for (const { id, local } of this.#devices) {
      assert.ok(equal(local.version?.fields, version?.fields), `${id} has another version`);
    }
    if (!version) return;
    const fields = withoutStamps(version.fields);
    for (const [name, rule] of fieldsOf) {
      const found = fields[name] ?? nothing[rule];
      const demanded = this.#demand(name, rule);
      assert.ok(equal(found, demanded),
        `${name} is ${JSON.stringify(found)}, not ${JSON.stringify(demanded)}`);
    }
    this.#checkTexts(fields);
  }

  #demand(name, rule) {
    const own = this.#edits.map((edit, number) => ({ ...edit, number }))
      .filter(({ field }) => field === name);
    switch (rule) {
      case "newest": case "keepBoth": return newest(own)?.value;
      case "set": case "map": {
        const parts = [...new Set(own.map(({ part }) => part))].sort();
        const left = parts.map((part) => [part, newest(own.filter((it) => it.part === part)).value])
          .filter(([, value]) => value !== undefined);
        return rule === "set" ? left.map(([, value]) => value) : Object.fromEntries(left);
      }
      case "counter": case "greatestEach": {
        // Each edit holds all parts that its author knew, and no part ever goes down.
        const parts = new Map();
        for (const { value } of own) {
          for (const [part, it] of members(value)) {
            if (total(it) >= total(parts.get(part))) parts.set(part, it);
          }
        }
        return Object.fromEntries(parts);
      }
      default: {
        const last = unseen(own).map(({ value }) => value).filter((it) => it !== undefined);
        if (last.length < 2) return last[0];
        if (rule === "or") return last.includes(true);
        if (rule === "and") return last.every((it) => it === true);
        // In these histories values are numbers up to 4, or one text, which is the greatest.
        last.sort((one, other) => rank(one) - rank(other));
        return rule === "least" ? last[0] : last.at(-1);
      }
    }
  }

  /** Every text that no later edit had seen is in the record or in a copy. */
  #checkTexts(fields) {
    const kept = [...this.#copies, fields].map((it) => it.note);
    const own = this.#edits.map((edit, number) => ({ ...edit, number }))
      .filter(({ field }) => field === "note");
    for (const { value } of unseen(own)) {
      assert.ok(value === undefined || kept.includes(value), `the text ${value} is lost`);
    }
  }
}

function partsOf(value) {
  if (Array.isArray(value)) return new Map(value.map((it) => [serialize(it), it]));
  return new Map(members(value));
}

const total = (value) => [value ?? 0].flat().reduce((sum, part) => sum + part, 0);

const rank = (value) => (typeof value === "number" ? value : 100);

const newest = (edits) => edits.reduce((best, it) => {
  const order = best && (best.time - it.time || compareText(best.device, it.device));
  return best && order >= 0 ? best : it;
}, undefined);

/** Returns the edits that no later edit of the same field had seen. */
const unseen = (edits) =>
  edits.filter(({ number }) => !edits.some(({ seen }) => seen.has(number)));
