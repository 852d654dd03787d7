import assert from "node:assert/strict";
import test from "node:test";
import { apps, resolverFor } from "../../../Sources/WebClient/apps/appCatalog.js";
import { sides } from "../../../Sources/WebClient/model/mergeParts.js";
import { isNumber, numberText, serialize } from "../../../Sources/WebClient/json/jsonValue.js";
import { rulesOf } from "../../../Sources/WebClient/model/app.js";
import { parse } from "../../../Sources/WebClient/json/jsonParser.js";
import { answer, exchanged, form } from "../support/conflicts.js";
import { hostileCase } from "../support/hostileCases.js";
import { randomCase, types } from "../support/randomCases.js";

// Laws of every resolver in the catalog, tested with versions of which some are incomplete or
// malformed.

/** Calls `check` for `count` random cases of a type, and as many hostile ones. */
function forCases(count, type, check) {
  for (let seed = 1; seed <= count; seed += 1) {
    check(randomCase(type, seed), `seed ${seed}`);
    check(hostileCase(type, seed), `hostile seed ${seed}`);
  }
}

for (const type of types) {
  test(`${type}: the same either way round, on a second run, and of a copy`, () => {
    forCases(1_500, type, (it, seed) => {
      const before = serialize(it);
      const outcome = serialize(answer(it));
      assert.equal(serialize(answer(it)), outcome, seed);
      assert.equal(serialize(answer(exchanged(it))), outcome, `${seed} exchanged`);
      assert.equal(serialize(answer(parse(before))), outcome, `${seed} read back`);
      assert.equal(serialize(it), before, `${seed}: what it was given has changed`);
    });
  });

  test(`${type}: what is resolved stays resolved`, () => {
    forCases(1_500, type, (it, seed) => {
      // If one version is deleted, the live one is kept unchanged, valid or not.
      if (it.local.deleted || it.server.deleted) return;
      const resolution = resolverFor(type).resolve(it);
      if (resolution.ask) return;
      const { newer } = sides(it);
      const outcome = { ...newer, fields: resolution.merged, modifiedAt: newer.modifiedAt + 1 };
      const expected = serialize(form({ merged: resolution.merged, copies: [] }));
      for (const base of [it.base, it.server, null]) {
        const again = answer({ type, base, local: outcome, server: outcome });
        assert.equal(serialize(again), expected, seed);
      }
      // A rule that ignores the base asks again.
      if (type === "Habit") return;
      // A device's next save: the outcome on top of the server's version, which has had the stamps
      // that it lacked since it arrived.
      const rules = rulesOf(apps.find(({ types }) => types.includes(type)), type);
      const server = rules
        ? { ...it.server, fields: rules.completed(it.server, it.base) } : it.server;
      const saved = answer({ type, base: server, local: outcome, server });
      assert.equal(serialize(saved), expected, seed);
    });
  });

  test(`${type}: the spelling of the input plays no part`, () => {
    forCases(500, type, (it, seed) => {
      assert.equal(serialize(answer(parse(respelt(it)))), serialize(answer(it)), seed);
    });
  });
}

/** Returns the same value as text, with members in reverse order and numbers in another form. */
function respelt(value) {
  if (isNumber(value)) return respeltNumber(numberText(value));
  if (Array.isArray(value)) return `[${value.map(respelt).join(" , ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.entries(value).reverse();
  return `{${members.map(([name, it]) => `${JSON.stringify(name)} : ${respelt(it)}`).join(",")}}`;
}

function respeltNumber(text) {
  if (text.includes("e")) return text.replace("e", "E+").replace("+-", "-0");
  return text.includes(".") ? `${text}0e0` : `${text}.0`;
}
