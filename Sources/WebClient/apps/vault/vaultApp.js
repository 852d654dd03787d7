import { member } from "../../json/jsonValue.js";
import { isName } from "../../model/name.js";
import { EditRefusal, textMember } from "../edit.js";
import { conflictName, freeName } from "./conflictName.js";
import { VaultContents } from "./vaultContents.js";
import { vaultFileResolver } from "./vaultFileResolver.js";
import {
  contentsOf, fieldsOf, fileType, isFileName, keyType, recordName, vaultZone,
} from "./vaultForm.js";

/**
 * Files that are the same on every device: zone `Vault`, one record per file. Actions, for a sealed
 * zone only:
 *
 *     {do: "put", file, fields, seen} · {do: "remove", name, seen} · {do: "restore", name, fields}
 *     {do: "resolve", copy, keep, copyWas, was}
 *
 * `put` adds a file, or replaces the one of that name; `seen` is the hash of the version that the
 * person replaces, null for none. If there is another version by then, it is kept as a conflict
 * copy. `restore` brings back a file that was removed. `resolve` ends a conflict: `keep` is "this"
 * (the file), "other" (the copy's content, in the file) or "both" (the copy becomes a file with a
 * name of its own); `was` and `copyWas` are the hashes that the person saw.
 */
export const vaultApp = Object.freeze({
  name: "vault",
  zone: vaultZone,
  isOwn: true,
  types: Object.freeze([fileType, keyType]),

  resolvers: Object.freeze({ [fileType]: vaultFileResolver }),

  outcome(state, action) {
    const contents = new VaultContents(state, { isZoneSealed: true });
    switch (member(action, "do")) {
      case "put": return { edits: put(contents, state, action) };
      case "remove": return { edits: [removed(contents, action)] };
      case "restore": return { edits: [restored(contents, action)] };
      case "resolve": return { edits: resolved(contents, action) };
      default: throw new EditRefusal("the vault does not know that order");
    }
  },
});

/** The fields have a reference to all chunks of the file. */
const edit = (name, fields) =>
  ({ zone: vaultZone, name, type: fileType, chunks: [], make: () => fields });

const hashOf = (action, name) => (member(action, name) === null ? null : textMember(action, name));

function put(contents, state, action) {
  const file = textMember(action, "file");
  if (!isFileName(file)) throw new EditRefusal(nameFault);
  const seen = hashOf(action, "seen");
  const held = contents.fileNamed(file);
  const name = held?.name ?? recordName(file);
  const written = contentsOf(member(action, "fields"), name);
  if (written?.form !== "zone") throw new EditRefusal("that is no file of a sealed vault");
  if (!held && state.records.some((it) => it.name === name && it.fields !== null)) {
    throw new EditRefusal("the account has something in this file's place that this browser cannot "
      + "read; add the file on a device that can, or give it another name");
  }
  if (held?.sha256 === written.sha256) return [];
  const edits = [edit(name, fieldsOf(written, file))];
  if (held && held.sha256 !== seen) edits.unshift(copied(held));
  return edits;
}

/** Sentences about a file's name that the vault cannot have. */
export const nameFault = "A file of the vault has a name of 1 to 255 bytes, without / and control "
  + "characters. Rename the file, and add it again.";

/** Returns the edit that keeps a version as a conflict copy. */
function copied(held) {
  checkForm(held);
  const file = conflictName(held.file, BigInt(held.modifiedAt));
  return edit(recordName(file), fieldsOf(held, file));
}

function removed(contents, action) {
  const held = found(contents, textMember(action, "name"), textMember(action, "seen"));
  return edit(held.name, null);
}

function restored(contents, action) {
  const [name, fields] = [textMember(action, "name"), member(action, "fields")];
  if (!isName(name) || !contentsOf(fields, name)) throw new EditRefusal("that is no file");
  if (contents.file(name)) throw new EditRefusal("this file is there again already");
  return edit(name, fields);
}

function resolved(contents, action) {
  const copy = found(contents, textMember(action, "copy"), textMember(action, "copyWas"));
  const { copyOf } = copy;
  if (copyOf === null) throw new EditRefusal("this file is no other version of one");
  const original = contents.fileNamed(copyOf);
  if ((original?.sha256 ?? null) !== hashOf(action, "was")) throw changed();
  const removal = edit(copy.name, null);
  const keep = textMember(action, "keep");
  if (keep === "this" && original) return [removal];
  if (keep !== "other" && keep !== "both") throw new EditRefusal("keep is this, other or both");
  checkForm(copy);
  if (keep === "other" && original) {
    return [edit(original.name, fieldsOf(copy, original.file)), removal];
  }
  const file = freeName(copyOf, new Set(contents.files.map((it) => it.file)));
  return [edit(recordName(file), fieldsOf(copy, file)), removal];
}

/** Files of before the zone was sealed cannot be saved again as they are. */
function checkForm({ form }) {
  if (form === "zone") return;
  throw new EditRefusal("this file is sealed in an earlier way; change it once with the program "
    + "lockstep on a computer, and try again");
}

function found(contents, name, seen) {
  const file = contents.file(name);
  if (!file) throw new EditRefusal("this file is not there any more");
  if (file.sha256 !== seen) throw changed();
  return file;
}

const changed = () => new EditRefusal("this file has just changed; look at it again");
