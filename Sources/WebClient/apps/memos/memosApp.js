import { equal, int64, isObject, member, setting } from "../../json/jsonValue.js";
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
 *     {do: "add", content, name?} · {do: "edit", memo, was, content} · {do: "remove", memo}
 *     {do: "restore", memo, fields} · {do: "resolve", copy, keep, was, copyWas}
 *
 * `restore` brings back a memo that was removed, with the fields that it had. `resolve` ends a
 * conflict: `copy` is the memo that the conflict left, `keep` is "this" (the memo), "other" (the
 * copy's text, in the memo) or "both" (the copy becomes a memo of its own); `was` and `copyWas` are
 * the texts that the person compared.
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
        return { edits: [added(state, action, random)] };
      case "edit":
        return edited(
          state, findEntry(memoContents(state), textMember(action, "memo"), "memo"), action);
      case "remove": {
        const { name } = findEntry(memoContents(state), textMember(action, "memo"), "memo");
        return { edits: [{ zone, name, type: memoType, make: () => null }] };
      }
      case "restore":
        return { edits: [restored(action)] };
      case "resolve":
        return { edits: resolved(memoContents(state), state, action, random) };
      default:
        throw new EditRefusal("memos do not know that order");
    }
  },
});

/** Name of a memo that is not stored yet. @param {(count: number) => Uint8Array} random */
export const newMemoName = (random) => uuid(random);

function added(state, action, random) {
  const written = content(action);
  const name = member(action, "name") ?? uuid(random);
  if (!isName(name)) throw new EditRefusal("a memo cannot have that name");
  if (memoContents(state).some((it) => it.name === name)) {
    throw new EditRefusal("this memo is there already");
  }
  return writeEdit(written, name);
}

function restored(action) {
  const name = textMember(action, "memo");
  const fields = member(action, "fields");
  if (!isName(name) || !isObject(fields)) throw new EditRefusal("that is no memo");
  return {
    zone, name, type: memoType,
    make: ({ current }) => {
      if (current) throw new EditRefusal("this memo is there already");
      return fields;
    },
  };
}

/** Returns the edits that end a conflict. Two devices that keep both make the same memo. */
function resolved(memos, state, action, random) {
  const copy = findEntry(memos, textMember(action, "copy"), "version");
  const memo = memos.find(({ name }) => name === copy.copyOf);
  if (copy.copyOf === null) throw new EditRefusal("this memo is no other version of one");
  if (copy.content !== textMember(action, "copyWas")
    || (memo && memo.content !== textMember(action, "was"))) {
    throw new EditRefusal("one of the two versions has changed; compare them again");
  }
  const removal = { zone, name: copy.name, type: memoType, make: () => null };
  const keep = textMember(action, "keep");
  if (keep === "both") return [...ownMemo(memos, copy, state, random), removal];
  if (!memo) throw new EditRefusal("the other version is not there any more");
  if (keep === "this") return [removal];
  if (keep === "other") return [writeEdit(copy.content, memo.name), removal];
  throw new EditRefusal("keep is this, other or both");
}

/** Returns the edit that makes a memo of its own from a copy; none if another device has. */
function ownMemo(memos, copy, state, random) {
  const { fields } = state.records.find((it) => it.type === memoType && it.name === copy.name);
  const planned = copyName(copy.name, "-kept");
  const there = memos.find(({ name }) => name === planned);
  if (there?.content === copy.content) return [];
  const name = there || !isName(planned) ? uuid(random) : planned;
  return [{ zone, name, type: memoType, make: () => fields }];
}

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
