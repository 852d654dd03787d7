import { frozen, isObject, setting } from "../../json/jsonValue.js";
import { faultOfDepth } from "../fields.js";
import { EditError } from "../replica/editing.js";

/** Items: a record as an app's screens use it, its fields with `id`, the record's name. A field of
 * that name, as another program may have written, is kept but not shown. */

const items = new WeakMap();

/** Returns the same item for the same version of a record. It is frozen, with all that it holds. */
export function itemOf(record) {
  let item = items.get(record);
  if (!item) {
    item = frozen(setting(record.fields, { id: record.name }));
    items.set(record, item);
  }
  return item;
}

/** Returns the fields that an item gives a record. `held`: the record as it is now. Refuses what is
 * no item: null, above all, as the fields of an edit, would delete the record. */
export function fieldsOf(item, held) {
  if (!isObject(item)) {
    throw new EditError("badEdit",
      "an item is an object of fields; to remove a record, call `delete`");
  }
  const fault = faultOfDepth(item);
  if (fault) throw new EditError("badEdit", fault);
  return setting(defined(item), { id: held?.fields.id });
}

/** Returns a value without members that are undefined: they are absent. */
export function defined(value) {
  if (Array.isArray(value)) return value.map(defined);
  if (!isObject(value)) return value;
  const there = Object.entries(value).filter(([, it]) => it !== undefined);
  return Object.fromEntries(there.map(([name, it]) => [name, defined(it)]));
}
