import { t, tCount } from "../language/language.js";
import { deviceLabel } from "../text/deviceText.js";
import { joinSentences } from "../text/sentences.js";
import { sizeText } from "../text/size.js";
import { ago } from "../text/time.js";

/**
 * Returns the rows of the vault's files: each file with its conflict copies.
 *
 * @param {import("../../apps/vault/vaultContents.js").VaultContents} contents
 * @param {{unsent: Set<string>, refused: Map<string, string>, missing: Set<string>,
 *   isFetching: (name: string) => boolean, now: number, minutesAhead: number}} known `unsent`,
 *   `refused`: names of records; `missing`: chunks that the relay does not have
 */
export function fileRows(contents, known) {
  const row = (file) => ({
    key: file.name, file: file.file, about: aboutText(file, known), state: stateOf(file, known),
    isFetching: known.isFetching(file.name),
  });
  return contents.files
    .filter(({ copyOf }) => copyOf === null || !contents.fileNamed(copyOf))
    .map((file) => ({ ...row(file), copyOf: file.copyOf,
      copies: contents.copiesOf(file).map((copy) => ({ ...row(copy), isNeedless: copy.isNeedless,
        words: copyText(copy) })) }));
}

/** Returns size, time and author of a version: `2.8 MiB, changed 5 min ago by laptop`. */
export function aboutText({ bytes, modifiedAt, device, deviceName }, { now, minutesAhead }) {
  return t("{size}, changed {when} by {device}", { size: sizeText(bytes),
    when: ago(modifiedAt, now, minutesAhead), device: deviceLabel(device, deviceName) });
}

const copyText = ({ isNeedless, copyOf }) => (isNeedless
  ? t("This copy has the same content as {file}.", { file: copyOf })
  : t("Another device changed {file} at the same time. This is its version.", { file: copyOf }));

/** Returns the state of a file as text; `tone`: "good", "busy" or "bad". */
export function stateOf({ name, chunks }, { unsent, refused, missing }) {
  if (refused.has(name)) {
    return { tone: "bad",
      words: t("The relay does not accept it: {reason}", { reason: refused.get(name) }) };
  }
  if (unsent.has(name)) return { tone: "busy", words: t("Not sent yet") };
  if (chunks.some((chunk) => missing.has(chunk))) {
    return { tone: "bad", words: t("Waits for a device to send its content") };
  }
  return { tone: "good", words: t("In step") };
}

/** Returns the row of a transfer. */
export function transferRow({ key, file, state, doneBytes, totalBytes, problem }) {
  const share = totalBytes === 0 ? 0 : Math.floor((100 * doneBytes) / totalBytes);
  const words = {
    waiting: t("Waits for the files before it"),
    running: t("{share} % of {size}", { share, size: sizeText(totalBytes) }),
    paused: t("The relay cannot be reached. Leave this page open: the file is sent when the "
      + "connection is back."),
    failed: problem,
  }[state];
  return { key, file, words, share, state };
}

/** Types of files that a browser shows without running anything of them, by extension. */
const shownTypes = {
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp",
  avif: "image/avif", bmp: "image/bmp", pdf: "application/pdf",
  ...Object.fromEntries(["txt", "text", "log", "md", "csv", "json", "ini", "conf", "toml", "yaml",
    "yml"].map((extension) => [extension, "text/plain;charset=utf-8"])),
};

/** Returns the media type with which the browser may open a file; null if it may not: a page, a
 * drawing or a script of that file would run with the rights of this page. @param {string} file */
export function shownType(file) {
  const extension = /\.([^.]+)$/u.exec(file)?.[1].toLowerCase() ?? "";
  return Object.hasOwn(shownTypes, extension) ? shownTypes[extension] : null;
}

/** Returns sentences about what this browser cannot do with the vault; empty if there is nothing.
 * @param {{isZoneSealed: boolean, noKeyCount: number, malformedCount: number}} vault */
export function limitText({ isZoneSealed, noKeyCount, malformedCount }) {
  return joinSentences([
    isZoneSealed ? "" : t("This account is not sealed, so a browser adds no files: the relay could "
      + "read them. To add files here, seal the vault with the command lockstep agent seal Vault "
      + "on a computer of this account."),
    noKeyCount === 0 ? "" : tCount(noKeyCount,
      "One file is sealed with the vault's own key, which no browser gets.",
      "{count} files are sealed with the vault's own key, which no browser gets."),
    noKeyCount === 0 ? "" : t("Read them with the program lockstep on a computer. Once the vault "
      + "is sealed with the account's keys, browsers open them, too."),
    malformedCount === 0 ? "" : tCount(malformedCount,
      "One file cannot be read by this version of the page: reload the page.",
      "{count} files cannot be read by this version of the page: reload the page."),
  ]);
}
