/**
 * Returns the changes of an object store that leave in it what is kept. A value that is held stays
 * as it is.
 *
 * @template T
 * @param {T[]} held values of the store
 * @param {T[]} kept
 * @param {(value: T) => string} keyOf
 * @returns {{put: [string, T][], remove: string[]}}
 */
export function changesBetween(held, kept, keyOf) {
  const [known, wanted] = [held, kept].map((values) => new Set(values.map(keyOf)));
  return {
    put: kept.map((value) => [keyOf(value), value]).filter(([key]) => !known.has(key)),
    remove: [...known].filter((key) => !wanted.has(key)),
  };
}
