import { equal, member, setting, text } from "../../json/jsonValue.js";
import { limits } from "../../model/limits.js";
import { merged } from "../../model/resolver.js";
import { prefix } from "../../json/utf8.js";
import { changeOutlivesDelete, copyName, fieldMerge, greaterNumber, instant, sides }
  from "../mergeRules.js";

/**
 * Merges a memo field by field. If both sides wrote a different text, the newer text stays and the
 * older one is kept whole as a separate memo.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const memoResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const resolution = changeOutlivesDelete(conflict);
    if (resolution) return resolution;
    const { newer, older } = sides(conflict);
    const fields = fieldMerge(conflict.base?.fields, newer.fields, older.fields);
    const dates = [newer, older].map((version) => member(version.fields, "date"));
    const content = text(fields, "content");
    const derived = {
      date: greaterNumber(...dates) ?? member(fields, "date"),
      title: content === undefined ? member(fields, "title") : titleOf(content),
    };
    return merged(setting(fields, derived), copies(conflict.base, newer, older));
  },
});

function copies(base, newer, older) {
  const [was, ours, theirs] = [base, newer, older].map((it) => member(it?.fields, "content"));
  const isLost = !equal(ours, was) && !equal(theirs, was) && !equal(ours, theirs);
  if (!isLost || theirs === undefined) return [];
  const name = copyName(older.name, `~${older.device}-${instant(older)}`);
  return [{ name, fields: older.fields }];
}

/** Returns the first line of a memo, at most its first hundred characters (Unicode scalars). */
export function titleOf(content) {
  const end = content.indexOf("\n");
  return prefix(end < 0 ? content : content.slice(0, end), limits.memoTitle);
}
