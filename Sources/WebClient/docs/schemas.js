import { limits } from "./limits.js";
import { exampleOfName, exampleOfSchema } from "./examples.js";

/**
 * Describes the schemas of an OpenAPI 3.1 document: their types as words, their members as a list,
 * and an example of each.
 *
 * @typedef {{path: string, type: string, rules: string[], isRequired: boolean,
 *   description: string}} Member
 */

const prefix = "#/components/schemas/";

export class Schemas {
  /** @param {object} document the whole document */
  constructor(document) { this.components = document.components ?? {}; }

  /** Returns the part of the document that a reference names, or the part itself. What stands
   * beside a reference is added (OpenAPI 3.1, section 4.8.24). */
  resolve(part, depth = 0) {
    if (!part?.$ref || depth > limits.schemaDepth) return part ?? {};
    const { $ref: reference, ...beside } = part;
    const [, kind, name] = /^#\/components\/([a-zA-Z]+)\/([\w.-]+)$/.exec(reference) ?? [];
    const target = this.resolve(this.components[kind]?.[name], depth + 1);
    const properties = { ...target.properties, ...beside.properties };
    const all = { ...target, ...beside };
    return Object.keys(properties).length > 0 ? { ...all, properties } : all;
  }

  /** Returns the name of the schema that a reference names; null for any other schema. */
  nameOf(part) {
    return part?.$ref?.startsWith(prefix) ? part.$ref.slice(prefix.length) : null;
  }

  /** Returns the alternatives of a schema; none if it has only itself. */
  alternativesOf(schema) { return schema.oneOf ?? schema.anyOf ?? []; }

  /** Returns the type in words: `integer`, `array of string`, `object or null`. */
  typeOf(part, depth = 0) {
    const schema = this.resolve(part);
    if (depth > limits.schemaDepth) return "any";
    if ("const" in schema) return JSON.stringify(schema.const);
    if (schema.enum && schema.enum.length <= limits.listedValues) {
      return schema.enum.map((value) => JSON.stringify(value)).join(" or ");
    }
    const alternatives = this.alternativesOf(schema);
    if (alternatives.length > 0) {
      return [...new Set(alternatives.map((it) => this.typeOf(it, depth + 1)))].join(" or ");
    }
    if (schema.type === "array") {
      return schema.items ? `array of ${this.typeOf(schema.items, depth + 1)}` : "array";
    }
    if (Array.isArray(schema.type)) return schema.type.join(" or ");
    return schema.type ?? (schema.enum ? "string" : "any");
  }

  /** Returns the rules that a value must keep beside its type, as short texts. */
  rulesOf(part, depth = 0) {
    const schema = this.resolve(part);
    if (depth > limits.schemaDepth) return [];
    const alternatives = this.alternativesOf(schema);
    if (alternatives.length > 0) {
      return [...new Set(alternatives.flatMap((it) => this.rulesOf(it, depth + 1)))];
    }
    return [
      range(schema.minimum, schema.maximum, ""),
      range(schema.minLength, schema.maxLength, "characters"),
      range(schema.minItems, schema.maxItems, "items"),
      range(schema.minProperties, schema.maxProperties, "members"),
      schema.pattern ? `matches ${schema.pattern}` : null,
      schema.uniqueItems ? "no item twice" : null,
      "default" in schema ? `default ${JSON.stringify(schema.default)}` : null,
    ].filter((rule) => rule !== null);
  }

  /**
   * Returns the members of a value, those of members and items included: `records[].name`. For a
   * value that is one of several objects, `kinds` has more than one list.
   *
   * @returns {{title: string, members: Member[]}[]}
   */
  kindsOf(part) {
    const schema = this.resolve(part);
    const objects = this.alternativesOf(schema)
      .filter((it) => this.objectIn(it, 0) !== null);
    if (objects.length < 2) {
      const members = this.membersOf(schema, "", 0);
      return members.length > 0 ? [{ title: "", members }] : [];
    }
    return objects.map((it) => ({
      title: this.nameOf(it) ?? "object", members: this.membersOf(it, "", 0),
    }));
  }

  membersOf(part, path, depth) {
    if (depth > limits.schemaDepth) return [];
    const object = this.objectIn(part, depth);
    if (object === null) return [];
    const { schema, path: inner } = object;
    const base = path + inner;
    const required = new Set(schema.required ?? []);
    // Limits have no member of a known name but those that are required.
    const names = new Set([...Object.keys(schema.properties ?? {}), ...required]);
    return [...names].flatMap((name) => {
      const member = schema.properties?.[name] ?? schema.additionalProperties ?? {};
      const own = `${base}${base ? "." : ""}${name}`;
      const described = this.resolve(member);
      return [{
        path: own, type: this.typeOf(member), rules: this.rulesOf(member),
        isRequired: required.has(name), description: described.description ?? "",
      }, ...this.membersOf(member, own, depth + 1)];
    });
  }

  /** Returns the object that a value is or has as items, and `[]` for each list around it; null if
   * it has no known members. */
  objectIn(part, depth) {
    const schema = this.resolve(part);
    if (depth > limits.schemaDepth) return null;
    if (schema.properties || schema.required) return { schema, path: "" };
    if (schema.type === "array" && schema.items) {
      const found = this.objectIn(schema.items, depth + 1);
      return found && { schema: found.schema, path: `[]${found.path}` };
    }
    const found = this.alternativesOf(schema).map((it) => this.objectIn(it, depth + 1))
      .filter((it) => it !== null);
    return found.length < 2 ? found[0] ?? null : unionOf(found);
  }

  /** Returns a value of the schema, with its required members only. `name`: of the member or
   * parameter that has the value. */
  exampleOf(part, name = "", depth = 0) {
    const schema = this.resolve(part);
    if (depth > limits.schemaDepth) return null;
    if ("example" in schema) return schema.example;
    if ("const" in schema) return schema.const;
    if (schema.enum) return schema.enum[0];
    const known = exampleOfName(name) ?? exampleOfSchema(this.nameOf(part));
    if (known !== undefined) return known;
    const alternatives = this.alternativesOf(schema);
    if (alternatives.length > 0) return this.exampleOf(alternatives[0], name, depth + 1);
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    switch (type) {
      case "array": return schema.minItems === 0 || !schema.items
        ? [] : new Array(schema.minItems ?? 1).fill(this.exampleOf(schema.items, name, depth + 1));
      case "integer": return schema.default ?? Math.max(schema.minimum ?? 0, 1);
      case "boolean": return schema.default ?? false;
      case "null": return null;
      case "object": return this.exampleObject(schema, depth);
      default: return schema.required || schema.properties
        ? this.exampleObject(schema, depth) : "text";
    }
  }

  exampleObject(schema, depth) {
    const names = [...schema.required ?? []];
    // Where members are chosen, such as one of a tag and an error, the first one is.
    for (const name of Object.keys(schema.properties ?? {})) {
      if (names.length >= (schema.minProperties ?? 0)) break;
      if (!names.includes(name)) names.push(name);
    }
    return Object.fromEntries(names.map((name) => [
      name,
      this.exampleOf(
        schema.properties?.[name] ?? schema.additionalProperties ?? {}, name, depth + 1),
    ]));
  }
}

/** Returns one object with the members of all; required is what every one of them requires. */
function unionOf(objects) {
  const [{ path, schema: first }, ...others] = objects;
  const properties = Object.assign({}, ...objects.map(({ schema }) => schema.properties));
  const required = (first.required ?? []).filter((name) =>
    others.every(({ schema }) => schema.required?.includes(name)));
  return { path, schema: { properties: { ...properties, ...first.properties }, required } };
}

function range(least, most, unit) {
  const words = unit ? ` ${unit}` : "";
  if (least === undefined && most === undefined) return null;
  if (most === undefined) return `at least ${least}${words}`;
  if (least === undefined) return `at most ${most}${words}`;
  return least === most ? `${least}${words}` : `${least} to ${most}${words}`;
}
