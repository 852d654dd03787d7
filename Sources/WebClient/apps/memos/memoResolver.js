import { equal, member, setting, text } from "../../json/jsonValue.js";
import { prefix } from "../../json/utf8.js";
import { limits } from "../limits.js";
import { copyName, greaterNumber, instant, sides } from "../../model/mergeParts.js";
import { MergeRules } from "../../model/mergeRules.js";
import { isDeleted, merged } from "../../model/resolver.js";
import { ruleResolver } from "../../model/ruleResolver.js";
import { hasStamps } from "../../model/stamps.js";

export const memoRules = MergeRules.of({ fields: { content: "keepBoth" } });
const byRules = ruleResolver(memoRules);

/**
 * Merges a memo field by field. If both sides wrote a different text, the newer text stays and the
 * older one is kept whole as a separate memo. The date never goes back, and the title always
 * follows from the text.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const memoResolver = Object.freeze({
  takesNewestStamp: false,

  resolve(conflict) {
    const resolution = byRules.resolve(conflict);
    const { newer, older } = sides(conflict);
    if (isDeleted(newer) || isDeleted(older)) return resolution;
    const { merged: fields, copies } = resolution;
    const dates = [newer, older].map((version) => member(version.fields, "date"));
    const content = text(fields, "content");
    const derived = {
      date: greaterNumber(...dates) ?? member(fields, "date"),
      title: content === undefined ? member(fields, "title") : titleOf(content),
    };
    return merged(
      memoRules.normalized(setting(fields, derived), newer),
      copies.map((copy) => ({ ...copy, name: nameOf(copy, [newer, older]) })));
  },
});

/** Returns the name of a copy. A version without stamps gives it its own, also if its text counts
 * as a millisecond newer. */
function nameOf(copy, versions) {
  const lost = versions.find((it) => !hasStamps(it.fields) && equal(it.fields, copy.fields));
  return lost ? copyName(lost.name, `~${lost.device}-${instant(lost)}`) : copy.name;
}

/** Returns the first line of a memo, at most its first hundred characters (Unicode scalars). */
export function titleOf(content) {
  const end = content.indexOf("\n");
  return prefix(end < 0 ? content : content.slice(0, end), limits.memoTitle);
}
