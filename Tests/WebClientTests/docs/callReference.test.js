import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { referenceOf, searchTextOf } from "../../../Sources/WebClient/docs/callReference.js";
import { curlLine, quoted } from "../../../Sources/WebClient/docs/curlLine.js";
import { Schemas } from "../../../Sources/WebClient/docs/schemas.js";

const file = new URL("../../../docs/openapi.json", import.meta.url);
const document = JSON.parse(readFileSync(file, "utf8"));
const schemas = new Schemas(document);
const reference = referenceOf(document);
const calls = reference.groups.flatMap((group) => group.calls);
const call = (id) => calls.find((it) => it.id === id);

/** Returns the faults of a value by the keywords of JSON Schema that the document uses. */
function faults(value, part, path = "$") {
  const schema = schemas.resolve(part);
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) {
    const isOne = alternatives.some((it) => faults(value, it, path).length === 0);
    return isOne ? [] : [`${path} is none of the alternatives`];
  }
  const kind = value === null ? "null" : Array.isArray(value) ? "array"
    : Number.isInteger(value) ? "integer" : typeof value;
  const types = schema.type === undefined ? [kind] : [schema.type].flat();
  const isOfType = types.includes(kind) || (kind === "integer" && types.includes("number"));
  if (!isOfType) return [`${path} is ${kind}, not ${types}`];
  const found = [];
  const demand = (holds, rule) => { if (!holds) found.push(`${path}: ${rule}`); };
  if ("const" in schema) demand(value === schema.const, "const");
  if (schema.enum) demand(schema.enum.includes(value), "enum");
  if (kind === "string") {
    demand(value.length >= (schema.minLength ?? 0), "minLength");
    demand(value.length <= (schema.maxLength ?? Infinity), "maxLength");
    if (schema.pattern) demand(new RegExp(schema.pattern, "u").test(value), schema.pattern);
  }
  if (kind === "integer" || kind === "number") {
    demand(value >= (schema.minimum ?? -Infinity), "minimum");
    demand(value <= (schema.maximum ?? Infinity), "maximum");
  }
  if (kind === "array") {
    demand(value.length >= (schema.minItems ?? 0), "minItems");
    demand(value.length <= (schema.maxItems ?? Infinity), "maxItems");
    value.forEach((it, index) =>
      found.push(...faults(it, schema.items ?? {}, `${path}[${index}]`)));
  }
  if (kind === "object") {
    for (const name of schema.required ?? []) demand(name in value, `lacks ${name}`);
    demand(Object.keys(value).length >= (schema.minProperties ?? 0), "minProperties");
    for (const [name, member] of Object.entries(value)) {
      found.push(...faults(member, schema.properties?.[name] ?? {}, `${path}.${name}`));
    }
  }
  return found;
}

test("every call of the document is in one group", () => {
  const listed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item).filter((name) => name !== "parameters")
      .map((method) => `${method.toUpperCase()} ${path}`));
  assert.ok(listed.length > 25);
  assert.deepEqual(calls.map((it) => `${it.method} ${it.path}`).sort(), listed.sort());
  assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
});

test("the examples of bodies, answers and parameters keep the rules of their schemas", () => {
  let count = 0;
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (method === "parameters") continue;
      const shown = call(operation.operationId);
      const body = operation.requestBody?.content?.["application/json"]?.schema;
      if (body) {
        assert.deepEqual(faults(shown.body.example, body), [], `the body of ${method} ${path}`);
        count += 1;
      }
      for (const { status, content } of shown.answers) {
        const schema = schemas.resolve(operation.responses[status])
          .content?.["application/json"]?.schema;
        if (!schema) continue;
        assert.deepEqual(faults(content.example, schema), [], `${method} ${path}, ${status}`);
        count += 1;
      }
      for (const parameter of [...item.parameters ?? [], ...operation.parameters ?? []]) {
        const { name, schema, required } = schemas.resolve(parameter);
        const { example } = shown.parameters.find((it) => it.name === name);
        if (required) assert.deepEqual(faults(example, schema), [], `${path}, ${name}`);
      }
    }
  }
  assert.ok(count > 25, `${count} examples`);
});

test("members are listed with those of members and items", () => {
  const [kind] = call("saveRecords").answers[0].content.kinds;
  const paths = kind.members.map(({ path }) => path);
  assert.ok(paths.includes("results[].conflict.fields"), paths.join(" "));
  const members = new Map(call("saveRecords").body.kinds[0].members.map((it) => [it.path, it]));
  assert.ok(members.get("records[].name").isRequired);
  for (const name of ["type", "deleted"]) {
    assert.ok(!members.get(`records[].${name}`).isRequired);
  }
  const kinds = call("putSubscription").body.kinds.map(({ title }) => title);
  assert.deepEqual(kinds, ["DatabaseSubscription", "ZoneSubscription", "QuerySubscription"]);
  const record = call("getRecord").answers[0].content.kinds[0].members;
  const fields = record.find(({ path }) => path === "fields");
  assert.deepEqual([fields.type, fields.isRequired], ["object or null", true]);
  const limits = call("getLimits").answers[0].content.kinds[0].members;
  assert.ok(limits.length > 50 && limits.every(({ type }) => type !== "any"));
});

test("a refusal has its codes, and is no answer", () => {
  const { refusals, answers } = call("saveRecords");
  const conflict = refusals.find(({ status }) => status === "401");
  assert.deepEqual(conflict.codes, ["badToken"]);
  assert.deepEqual(answers.map(({ status }) => status), ["200", "409"]);
  assert.deepEqual(call("getTime").refusals.filter(({ status }) => status === "401"), []);
});

test("a search finds calls by path, member, status and refusal", () => {
  const found = (word) => calls.filter((it) => searchTextOf(it).includes(word)).map(({ id }) => id);
  assert.ok(found("/v1/chunks").length >= 4);
  assert.ok(found("badwakecode").includes("verifyWake"));
  assert.ok(found("atomic").includes("saveRecords"));
  assert.deepEqual(found("no such word"), []);
});

test("a line for curl has path, token and body, as words of a shell", () => {
  assert.equal(curlLine(call("getTime"), "https://relay.test"),
    "curl 'https://relay.test/v1/time'");
  assert.equal(curlLine(call("deleteRecord"), "https://relay.test"),
    "curl --request DELETE 'https://relay.test/v1/zones/Notes/records/shopping?baseTag=any' \\\n"
    + "  --header \"Authorization: Bearer $TOKEN\"");
  assert.match(curlLine(call("putChunk"), ""), /--data-binary @chunk$/);
  assert.match(curlLine(call("keepChunk"), ""), /^curl --head '/);
  assert.match(curlLine(call("streamEvents"), ""), /^curl --no-buffer '/);
  assert.equal(curlLine(call("openSocket"), ""), null);
  assert.doesNotMatch(curlLine(call("issuePairing"), ""), /--data/);
  assert.equal(quoted("it's $HOME"), "'it'\\''s $HOME'");
});

test("a schema that refers to itself, or to nothing, ends", () => {
  const circle = new Schemas({ components: { schemas: {
    Tree: {
      type: "object", required: ["leaf", "trees"],
      properties: {
        leaf: { type: "string" },
        trees: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
      },
    },
    Loop: { $ref: "#/components/schemas/Loop" },
    List: { type: "array", items: { $ref: "#/components/schemas/List" } },
    Either: { anyOf: [{ $ref: "#/components/schemas/Either" }] },
  } } });
  for (const name of ["Tree", "Loop", "List", "Either", "Missing", "__proto__"]) {
    const part = { $ref: `#/components/schemas/${name}` };
    assert.equal(typeof circle.typeOf(part), "string", name);
    assert.ok(Array.isArray(circle.kindsOf(part)), name);
    assert.ok(Array.isArray(circle.rulesOf(part)), name);
    assert.notEqual(circle.exampleOf(part), undefined, name);
  }
  assert.deepEqual(referenceOf({}), { description: "", groups: [] });
});
