/**
 * Tags of memos: `#` and a word in the text, at its beginning or after white space. The word has
 * letters, digits, `_`, `-` and `/`, and at least one letter.
 */

/** Length of a tag with its sign, in UTF-16 units: a longer word is text. */
const tagMax = 50;
/** Tags of one memo: further ones are text. */
const memoTagsMax = 50;

const tagHere = /#[\p{L}\p{M}\p{N}_/-]+/uy;

/** Returns the tag that begins at a position, with its sign; null if there is none. */
export function tagAt(text, at) {
  if (!/[\s(]/.test(text[at - 1] ?? " ")) return null;
  tagHere.lastIndex = at;
  const tag = tagHere.exec(text)?.[0].replace(/[/-]+$/, "") ?? "";
  return tag.length <= tagMax && /\p{L}/u.test(tag) ? tag : null;
}

/** Returns the tags of a text as they are written, without those in code. Two that differ in case
 * alone are one. */
export function tagsOf(content) {
  const tags = new Map();
  if (!content.includes("#")) return [];
  const text = withoutCode(content);
  for (let at = text.indexOf("#"); at >= 0; at = text.indexOf("#", at + 1)) {
    const tag = tagAt(text, at);
    if (tag !== null && !tags.has(tagKey(tag))) tags.set(tagKey(tag), tag);
    if (tags.size === memoTagsMax) break;
  }
  return [...tags.values()];
}

/** Returns the same text for tags that differ in case alone. */
export const tagKey = (tag) => tag.toLowerCase();

/**
 * Returns the tags of all memos, those of most memos first.
 *
 * @param {{tags: string[]}[]} memos
 * @returns {{key: string, tag: string, count: number}[]}
 */
export function tagCounts(memos) {
  const counts = new Map();
  for (const { tags } of memos) {
    for (const tag of tags) {
      const key = tagKey(tag);
      counts.set(key, { key, tag: counts.get(key)?.tag ?? tag,
        count: (counts.get(key)?.count ?? 0) + 1 });
    }
  }
  return [...counts.values()].sort((one, other) =>
    other.count - one.count || (one.key < other.key ? -1 : 1));
}

function withoutCode(content) {
  if (!/[`~]/.test(content)) return content;
  let fence = null;
  const lines = [];
  for (const line of content.split("\n")) {
    const sign = /^ {0,3}(```|~~~)/.exec(line)?.[1] ?? null;
    const isCode = fence !== null || sign !== null;
    if (fence === null) fence = sign;
    else if (sign === fence) fence = null;
    lines.push(isCode ? "" : line.replace(/`[^`]*`/g, " "));
  }
  return lines.join("\n");
}
