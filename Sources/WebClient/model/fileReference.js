// References to the content of files in the fields of records:
// {"name": TEXT, "bytes": NUMBER, "chunks": [HASH…]}. If the chunks are sealed, a reference also
// has "seal": {"zone": TEXT, "key": ID}.

import { limits } from "./limits.js";

const hash = /^[0-9a-f]{64}$/;

/** True if a value is a list of names of chunks that a record may have. */
export const areChunks = (value) =>
  Array.isArray(value) && value.length <= limits.chunksPerRecord
    && Array.from(value).every((chunk) => typeof chunk === "string" && hash.test(chunk));

/** Returns the chunks that the references in a record's fields name, each once. */
export const chunksIn = (fields) => chunksOfThose(fields, () => true);

/** True if a version names chunks of files, and does not say that they are sealed for its zone. */
export function namesUnsealedFiles({ zone, chunks = [], fields }) {
  const sealed = new Set(chunksOfThose(fields, ({ seal }) =>
    seal?.zone === zone && typeof seal.key === "string"));
  return chunksNamed(chunks, fields).some((chunk) => !sealed.has(chunk));
}

function chunksOfThose(fields, isIncluded) {
  const found = new Set();
  collect(fields, found, isIncluded);
  return [...found];
}

function collect(value, found, isIncluded) {
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value) && isIncluded(value)) {
    for (const chunk of chunksOfReference(value)) {
      if (found.size < limits.chunksPerRecord) found.add(chunk);
    }
  }
  for (const member of Object.values(value)) collect(member, found, isIncluded);
}

/** Returns the chunks of an object that is a reference; none for any other object. */
const chunksOfReference = (value) => (isReference(value) ? value.chunks : []);

/** True if a value is a reference to the content of a file. */
export function isReference(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  const { name, bytes, chunks } = value;
  return typeof name === "string" && Number.isSafeInteger(bytes) && bytes >= 0
    && areChunks(chunks) && (bytes === 0) === (chunks.length === 0);
}

/** Returns the chunks that a version names: those that its writer named, and those of the
 * references in its fields. */
export function chunksNamed(named, fields) {
  return [...new Set([...named, ...chunksIn(fields)])];
}

/** Returns the chunks that a record names beside the references in its fields: its writer knows
 * files in another form. None for a record that is missing or deleted. */
export function chunksBeside(record) {
  if (!record?.chunks || record.deleted) return [];
  const inFields = new Set(chunksIn(record.fields));
  return record.chunks.filter((chunk) => !inFields.has(chunk));
}
