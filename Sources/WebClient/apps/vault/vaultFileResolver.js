import { equal, setting, text } from "../../json/jsonValue.js";
import { changeOutlivesDelete, instant, sides } from "../../model/mergeParts.js";
import { ask, merged } from "../../model/resolver.js";
import { conflictName } from "./conflictName.js";
import { contentsOf, fieldsOf, isSealedForm, recordName } from "./vaultForm.js";

/**
 * Rule of a file that two devices changed at once. Bytes of files cannot be merged, so both
 * versions are kept: the newer under the file's name, the other as a copy. A version that is sealed
 * with a key of the vault's own cannot be read here: a person decides.
 *
 * @type {import("../../model/resolver.js").Resolver}
 */
export const vaultFileResolver = Object.freeze({
  resolve(conflict) {
    const outlived = changeOutlivesDelete(conflict);
    if (outlived) return outlived;
    const { local, server } = conflict;
    const { newer, older } = sides(conflict);
    if ([local, server].some(({ fields }) => isSealedForm(fields))) {
      return sealed({ local, server, newer, older });
    }
    const hash = text(local.fields, "sha256");
    const isSame = equal(local.fields, server.fields)
      || (hash !== undefined && hash === text(server.fields, "sha256"));
    if (isSame) return merged(server.fields);
    const copy = conflictName(text(older.fields, "file") ?? older.name, instant(older));
    return merged(newer.fields,
      [{ name: copy, fields: setting(older.fields, { file: copy }) }]);
  },
});

function sealed({ local, server, newer, older }) {
  if (equal(local.fields, server.fields)) return merged(server.fields);
  const [kept, copied] = [newer, older].map(({ fields, name }) => contentsOf(fields, name));
  if (!kept || !copied) return ask;
  if (kept.sha256 === copied.sha256) return merged(server.fields);
  // A page cannot save what the relay could read into a sealed zone.
  if (copied.form !== "zone") return ask;
  const file = conflictName(copied.file, instant(older));
  return merged(newer.fields, [{ name: recordName(file), fields: fieldsOf(copied, file) }]);
}
