/**
 * A three-way merge of lists whose elements are told apart by an identity, a text: what both sides
 * have, and what one side has and the base lacks. The newer's elements come first, each side in its
 * own order, each identity once. Of an element that both have, the newer's spelling stays.
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

/** All of both sides, the newer's first, each identity once. */
export function union(newer, older, identity) {
  const found = new Map();
  for (const element of [...newer, ...older]) {
    const name = identity(element);
    if (!found.has(name)) found.set(name, element);
  }
  return Array.from(found.values());
}
