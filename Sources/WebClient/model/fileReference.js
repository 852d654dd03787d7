// References to the content of files in the fields of records:
// {"name": TEXT, "bytes": NUMBER, "chunks": [HASH…]}.

import { limits } from "./limits.js";

const hash = /^[0-9a-f]{64}$/;

/** Returns the chunks that the references in a record's fields name, each once. */
export function chunksIn(fields) {
  const found = new Set();
  collect(fields, found);
  return [...found];
}

function collect(value, found) {
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) {
    for (const chunk of chunksOfReference(value)) {
      if (found.size < limits.chunksPerRecord) found.add(chunk);
    }
  }
  for (const member of Object.values(value)) collect(member, found);
}

/** Returns the chunks of an object that is a reference; none for any other object. */
function chunksOfReference({ name, bytes, chunks }) {
  const isReference = typeof name === "string" && Number.isSafeInteger(bytes) && bytes >= 0
    && Array.isArray(chunks) && chunks.length <= limits.chunksPerRecord
    && (bytes === 0) === (chunks.length === 0)
    && chunks.every((chunk) => typeof chunk === "string" && hash.test(chunk));
  return isReference ? chunks : [];
}

/** Returns the chunks that a version names: those that its writer named, and those of the
 * references in its fields. */
export function chunksNamed(named, fields) {
  return [...new Set([...named, ...chunksIn(fields)])];
}
