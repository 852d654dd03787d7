import { equal, member, setting, text } from "../../changes/json.js";
import { limits } from "../../changes/limits.js";
import { merged } from "../../changes/resolver.js";
import { prefix } from "../../changes/utf8.js";
import { changeOutlivesDelete } from "../merge/changeOutlivesDelete.js";
import { copyName } from "../merge/copyName.js";
import { fieldMerge } from "../merge/fieldMerge.js";
import { greaterNumber } from "../merge/greater.js";
import { instant, sides } from "../merge/newerWins.js";

/**
 * Merges a memo field by field. If both sides wrote a different text, the newer text stays and the
 * older one is kept whole as a separate memo.
 *
 * @type {import("../../changes/resolver.js").Resolver}
 */
export const memoResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const standing = changeOutlivesDelete(conflict);
    if (standing) return standing;
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
