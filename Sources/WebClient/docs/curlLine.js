/**
 * Writes a call as a command line for curl that a person can copy into a POSIX shell. The token is
 * the variable `TOKEN`, so that it is not in the history of the shell.
 */

/** Returns a text as one word of a shell. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {import("./callReference.js").Call} call
 * @param {string} origin of the relay
 * @returns {string | null} null for a call that curl cannot do */
export function curlLine(call, origin) {
  if (call.isSocket) return null;
  const words = ["curl"];
  if (call.isStream) words.push("--no-buffer");
  if (call.method === "HEAD") words.push("--head");
  else if (call.method !== "GET") words.push(`--request ${call.method}`);
  words.push(quoted(origin + pathOf(call)));
  const lines = [words.join(" ")];
  if (!call.isOpen) lines.push("--header \"Authorization: Bearer $TOKEN\"");
  for (const { name, example } of call.parameters.filter(isRequiredHeader)) {
    lines.push(`--header ${quoted(`${name}: ${example}`)}`);
  }
  if (call.body) lines.push(...bodyOf(call.body));
  return lines.join(" \\\n  ");
}

const isRequiredHeader = ({ place, isRequired }) => place === "header" && isRequired;

function pathOf({ path, parameters, additions }) {
  const filled = path.replace(/\{(\w+)\}/g, (_, wanted) => {
    const parameter = parameters.find(({ name, place }) => place === "path" && name === wanted);
    return encodeURIComponent(parameter?.example ?? wanted);
  });
  const query = [
    ...parameters.filter(({ place, isRequired }) => place === "query" && isRequired)
      .map(({ name, example }) => [name, example]),
    ...Object.entries(additions.query ?? {}),
  ].map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return query.length > 0 ? `${filled}?${query.join("&")}` : filled;
}

function bodyOf({ mediaType, example, isRequired }) {
  if (example === null) {
    return [`--header ${quoted(`Content-Type: ${mediaType}`)}`, "--data-binary @chunk"];
  }
  if (!isRequired && Object.keys(example).length === 0) return [];
  return [
    `--header ${quoted(`Content-Type: ${mediaType}`)}`, `--data ${quoted(JSON.stringify(example))}`,
  ];
}
