import { additionsOf } from "./examples.js";
import { Schemas } from "./schemas.js";

/**
 * Reads an OpenAPI 3.1 document into what the page shows.
 *
 * @typedef {{name: string, place: string, type: string, rules: string[], isRequired: boolean,
 *   description: string, example: any}} Parameter
 * @typedef {{mediaType: string, description: string, example: any,
 *   kinds: {title: string, members: import("./schemas.js").Member[]}[]}} Content
 * @typedef {{status: string, description: string, headers: string[],
 *   content: Content | null}} Answer
 * @typedef {{status: string, description: string, codes: string[]}} Refusal
 * @typedef {{id: string, method: string, path: string, summary: string, isOpen: boolean,
 *   parameters: Parameter[], body: (Content & {isRequired: boolean}) | null, answers: Answer[],
 *   refusals: Refusal[], isStream: boolean, isSocket: boolean,
 *   additions: {query?: Record<string, string>}}} Call
 */

const methods = ["get", "head", "post", "put", "patch", "delete"];
const problemType = "application/problem+json";

/**
 * @param {object} document
 * @returns {{description: string, groups: {name: string, description: string, calls: Call[]}[]}}
 */
export function referenceOf(document) {
  const schemas = new Schemas(document);
  const calls = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    methods.filter((method) => item[method]).map((method) => ({
      tag: item[method].tags?.[0],
      call: callOf({ document, schemas, path, method, item, operation: item[method] }),
    })));
  const groups = (document.tags ?? []).map(({ name, description = "" }) => ({
    name, description, calls: calls.filter(({ tag }) => tag === name).map(({ call }) => call),
  }));
  return { description: document.info?.description ?? "", groups };
}

function callOf({ document, schemas, path, method, item, operation }) {
  const parameters = [...item.parameters ?? [], ...operation.parameters ?? []]
    .map((it) => parameterOf(schemas.resolve(it), schemas));
  const answers = Object.entries(operation.responses ?? {})
    .map(([status, it]) => [status, schemas.resolve(it)]);
  const isRefusal = ([, answer]) => Boolean(answer.content?.[problemType]);
  const additions = additionsOf(operation.operationId);
  const body = operation.requestBody && schemas.resolve(operation.requestBody);
  return {
    id: operation.operationId, method: method.toUpperCase(), path,
    summary: operation.summary ?? "", parameters, additions,
    isOpen: (operation.security ?? document.security ?? []).length === 0,
    body: body
      ? { isRequired: body.required === true, ...contentOf(body, schemas, additions.body) } : null,
    answers: answers.filter((it) => !isRefusal(it))
      .map(([status, it]) => answerOf(status, it, schemas)),
    refusals: answers.filter(isRefusal).map(([status, it]) => refusalOf(status, it, schemas)),
    isStream: answers.some(([, it]) => it.content?.["text/event-stream"]),
    isSocket: answers.some(([status]) => status === "101"),
  };
}

function parameterOf(parameter, schemas) {
  return {
    name: parameter.name, place: parameter.in, type: schemas.typeOf(parameter.schema),
    rules: schemas.rulesOf(parameter.schema), isRequired: parameter.required === true,
    description: parameter.description ?? schemas.resolve(parameter.schema).description ?? "",
    example: parameter.example ?? schemas.exampleOf(parameter.schema, parameter.name),
  };
}

function contentOf(holder, schemas, additions = {}) {
  const [mediaType, content] = Object.entries(holder.content ?? {})[0] ?? [];
  if (!mediaType) return null;
  const isJSON = /[/+]json$/.test(mediaType);
  const schema = content.schema ?? {};
  const example = isJSON ? schemas.exampleOf(schema) : null;
  return {
    mediaType, description: schemas.resolve(schema).description ?? "",
    kinds: isJSON ? schemas.kindsOf(schema) : [],
    example: isJSON ? { ...example, ...additions } : null,
  };
}

function answerOf(status, answer, schemas) {
  return {
    status, description: answer.description ?? "",
    headers: Object.keys(answer.headers ?? {}), content: contentOf(answer, schemas),
  };
}

function refusalOf(status, answer, schemas) {
  const schema = schemas.resolve(answer.content[problemType].schema);
  return {
    status, description: answer.description ?? "", codes: schema.properties?.code?.enum ?? [],
  };
}

/** Returns the text that a search compares with its words. */
export function searchTextOf(call) {
  const names = (kinds) => (kinds ?? []).flatMap(({ members }) => members.map(({ path }) => path));
  return [
    call.method, call.path, call.summary, call.id, ...call.parameters.map(({ name }) => name),
    ...names(call.body?.kinds), ...call.answers.flatMap(({ content }) => names(content?.kinds)),
    ...call.answers.map(({ status }) => status), ...call.refusals.map(({ status }) => status),
    ...call.refusals.flatMap(({ codes }) => codes),
  ].join(" ").toLowerCase();
}
