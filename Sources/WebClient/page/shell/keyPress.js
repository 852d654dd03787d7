/** Elements that use the space key by themselves. */
const pressed = "button, summary, select, input, [role=checkbox]";
/** Elements in which letters are text, or choose an option. */
const typed = "textarea, select, [contenteditable], "
  + "input:not([type=checkbox], [type=radio], [type=range], [type=button], [type=submit])";

/**
 * Returns the key of an event, as in `shortcuts`; null if it is not for a shortcut: a person types
 * or composes a text, a modifier is held, or the focused element uses the key itself.
 *
 * On a keyboard with other letters than Latin ones, the key counts that has the letter on a Latin
 * keyboard.
 *
 * @param {KeyboardEvent} event
 */
export function shortcutKey(event) {
  const { key, code, target } = event;
  const isOther = event.defaultPrevented || event.isComposing || event.keyCode === 229
    || event.ctrlKey || event.metaKey || event.altKey || target?.closest?.(typed);
  if (isOther || [...key ?? ""].length !== 1) return null;
  if (key === " " && target?.closest?.(pressed)) return null;
  const isLatin = key.codePointAt(0) < 128;
  const letter = /^Key([A-Z])$/.exec(code ?? "")?.[1].toLowerCase();
  return isLatin ? key : letter ?? null;
}
