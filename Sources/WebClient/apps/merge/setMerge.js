/**
 * Three-way merge of lists, whose elements are compared by an identity, a text. Keeps the elements
 * that both sides have, and those that one side has and the base lacks. The newer side's elements
 * come first, each side in its own order, each identity once. If both sides have an element, the
 * newer version of it is kept.
 */
export function setMerge(base, newer, older, identity) {
  const inBase = new Set(base.map(identity));
  const inNewer = new Set(newer.map(identity));
  const inOlder = new Set(older.map(identity));
  return union(newer, older, identity).filter((element) => {
    const name = identity(element);
    return (inNewer.has(name) && inOlder.has(name)) || !inBase.has(name);
  });
}

/** Returns all elements of both sides, the newer side's first, each identity once. */
export function union(newer, older, identity) {
  const found = new Map();
  for (const element of [...newer, ...older]) {
    const name = identity(element);
    if (!found.has(name)) found.set(name, element);
  }
  return Array.from(found.values());
}
