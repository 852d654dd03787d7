import { equal, int64, member, setting } from "../../json/jsonValue.js";
import { isName, uuid } from "../../model/name.js";
import { EditRefusal, findEntry, isBlank, textMember } from "../edit.js";
import { copyName } from "../../model/mergeParts.js";
import { memoResolver, memoRules, titleOf } from "./memoResolver.js";
import { memoContents } from "./memoContents.js";

const zone = "Memos";
const memoType = "Memo";

/**
 * Notes: zone `Memos`, one record per memo. Actions; `was` is the text that the person began to
 * change:
 *
 *     {do: "add", content} · {do: "edit", memo, was, content} · {do: "remove", memo}
 */
export const memosApp = Object.freeze({
  name: "memo",
  zone,
  isOwn: true,
  types: Object.freeze([memoType]),

  resolvers: Object.freeze({ [memoType]: memoResolver }),

  /** Of two concurrent texts, the older is kept as a separate memo. */
  rules: Object.freeze({ [memoType]: memoRules }),

  /** Corrects the date too: it is the timestamp of the edit that wrote it. */
  restamped(fields, { type, base, from, to }) {
    const date = member(fields, "date");
    const isOurs = type === memoType && int64(date) === BigInt(from);
    return isOurs && !equal(date, member(base, "date")) ? setting(fields, { date: to }) : fields;
  },

  outcome(state, action, random) {
    switch (member(action, "do")) {
      case "add":
        return { edits: [writeEdit(content(action), uuid(random))] };
      case "edit":
        return edited(
          state, findEntry(memoContents(state), textMember(action, "memo"), "memo"), action);
      case "remove": {
        const { name } = findEntry(memoContents(state), textMember(action, "memo"), "memo");
        return { edits: [{ zone, name, type: memoType, make: () => null }] };
      }
      default:
        throw new EditRefusal("memos do not know that order");
    }
  },
});

/**
 * Edits a text that may have changed while the person was writing. In that case both texts are
 * kept, as in a conflict between two devices.
 */
function edited(state, memo, action) {
  const written = content(action);
  const was = textMember(action, "was");
  const edits = [writeEdit(written, memo.name)];
  const record = state.records.find((it) => it.type === memoType && it.name === memo.name);
  const copy = copyName(memo.name, `~${record.device}-${record.modifiedAt}`);
  if (memo.content !== was && memo.content !== written && isName(copy)) {
    edits.unshift({ zone, name: copy, type: memoType, make: () => record.fields });
  }
  return { edits };
}

function content(action) {
  const text = textMember(action, "content");
  if (isBlank(text)) {
    throw new EditRefusal("a memo without a word is not kept; remove it instead");
  }
  return text;
}

/** Keeps fields that this version does not know. */
const writeEdit = (text, name) => ({
  zone, name, type: memoType,
  make: ({ current, stamp }) =>
    setting(current?.fields, { title: titleOf(text), content: text, date: stamp }),
});
