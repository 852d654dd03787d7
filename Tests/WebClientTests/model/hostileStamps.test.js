import assert from "node:assert/strict";
import test from "node:test";
import { numberOf, serialize, setting } from "../../../Sources/WebClient/json/jsonValue.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { fieldRules } from "../../../Sources/WebClient/model/fieldState.js";
import { MergeRules } from "../../../Sources/WebClient/model/mergeRules.js";
import { ruleResolver } from "../../../Sources/WebClient/model/ruleResolver.js";
import { withoutStamps } from "../../../Sources/WebClient/model/stamps.js";
import { exchanged, form } from "../support/conflicts.js";
import { SeededRandom } from "../support/seededRandom.js";

// Laws of the rules for any content of the fields and of "~", which other programs write as well.

const fields = ["a", "b", "é", "e\u0301", "", "~", "__proto__", "*"];
const devices = ["Mac", "mac", "电脑", "\uffee", "😀", ""];
const numbers = ["0", "1", "2", "-1", "1.5", "1e400", "-1e400", "9007199254740993",
  "9223372036854775807", "9223372036854775808", "0.1234567890123456789", "1152921504606846977",
].map(numberOf);

/** Any JSON value, often one that a rule reads. */
function anything(random, depth = 0) {
  const list = (make) => Array.from({ length: random.below(4) }, make);
  switch (random.below(depth < 3 ? 9 : 5)) {
    case 0: return random.pick([null, true, false]);
    case 1: case 2: return random.pick(numbers);
    case 3: return random.pick([...fields, ...devices]);
    case 4: return [random.pick(numbers), random.pick(devices)];
    case 5: return list(() => anything(random, depth + 1));
    case 6: return [random.pick(numbers), random.pick(numbers)];
    case 7: return [random.pick(numbers), random.pick(devices), anything(random, depth + 1)];
    default:
      return Object.fromEntries(list(() => [random.pick([...fields, "1", '"a"']),
        anything(random, depth + 1)]));
  }
}

function hostileCase(seed) {
  const random = new SeededRandom(seed);
  const some = () => Object.fromEntries(
    fields.filter(() => random.bool()).map((name) => [name, anything(random)]));
  const rules = new MergeRules({
    fields: fields.map((name) => [name, random.pick(fieldRules)]),
    otherFields: random.pick(fieldRules), delete: random.pick(["changeWins", "newest"]),
  });
  const version = () => {
    const stamps = random.below(3) === 0 ? undefined : anything(random, random.below(2));
    const content = random.below(12) === 0 ? null : setting(some(), { "~": stamps });
    return { name: "r", fields: content, modifiedAt: random.below(4), device: random.pick(devices),
      deleted: content === null };
  };
  const base = random.below(3) === 0 ? null : version();
  return { rules, base, local: version(), server: version() };
}

const answer = ({ rules, base, local, server }) =>
  serialize(form(ruleResolver(rules).resolve({ base, local, server })));

const reread = (version) => version && parse(serialize(version));

test("any conflict ends alike either way round, on a second run, and read back", () => {
  for (let seed = 1; seed <= 6_000; seed += 1) {
    const it = hostileCase(seed);
    const outcome = answer(it);
    assert.equal(answer(it), outcome, `seed ${seed}, twice`);
    assert.equal(answer(exchanged(it)), outcome, `seed ${seed}, exchanged`);
    const [base, local, server] = [it.base, it.local, it.server].map(reread);
    assert.equal(answer({ rules: it.rules, base, local, server }), outcome, `seed ${seed}, read`);
  }
});

test("what came of any conflict stays", () => {
  for (let seed = 1; seed <= 6_000; seed += 1) {
    const it = hostileCase(seed);
    if (it.local.deleted || it.server.deleted) continue;
    const { merged } = ruleResolver(it.rules).resolve(it);
    const outcome = { ...it.local, fields: merged, modifiedAt: 3 };
    const expected = serialize(form({ merged, copies: [] }));
    for (const base of [it.base, it.server, null]) {
      const again = answer({ rules: it.rules, base, local: outcome, server: outcome });
      assert.equal(again, expected, `seed ${seed}`);
    }
  }
});

test("any version can be edited, completed and moved in time", () => {
  for (let seed = 1; seed <= 6_000; seed += 1) {
    const { rules, base, local, server } = hostileCase(seed);
    if (local.deleted) continue;
    const newest = rules.newestStamp(server);
    // No relay accepts an edit of that time.
    if (newest.time > 2n ** 53n) continue;
    const stamp = { time: newest.time + 1n, device: "mac" };
    const edited = rules.stamped(local.fields, server, stamp);
    const now = { ...local, fields: edited, modifiedAt: Number(stamp.time), device: "mac" };
    // An edit that changes nothing leaves every stamp. A new record has none at first.
    const again = rules.stamped(edited, now, { ...stamp, time: stamp.time + 1n });
    const [one, other] = server.deleted ? [again, edited].map(withoutStamps) : [again, edited];
    assert.equal(serialize(one), serialize(other), `seed ${seed}`);
    serialize(rules.completed(local, base));
    serialize(rules.restamped(edited, base, Number(stamp.time), 1));
  }
});
