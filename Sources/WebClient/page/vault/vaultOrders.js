import { freeName } from "../../apps/vault/conflictName.js";
import { vaultApp } from "../../apps/vault/vaultApp.js";
import { contentsOf, isFileName } from "../../apps/vault/vaultForm.js";
import { FileError } from "../../lockstep.js";
import { confirmAction } from "../components/dialog.js";
import { download } from "../components/download.js";
import { element } from "../components/element.js";
import { t } from "../language/language.js";
import { limits } from "../limits.js";
import { isReadOnly } from "../text/scopeText.js";
import { sizeText } from "../text/size.js";
import { errorText } from "../text/errorText.js";
import { ago } from "../text/time.js";
import { askToReplace, offerToOpen, showDetails } from "./vaultDialogs.js";
import { VaultHistory } from "./vaultHistory.js";
import { aboutText, shownType, stateOf } from "./vaultModel.js";
import { VaultTransfers } from "./vaultTransfers.js";

/** Orders of a person for the vault's files. */
export class VaultOrders {
  #controller;
  #library;
  #notify;
  #changed;
  #history;
  /** Downloads, by the names of their records. */
  #fetching = new Map();
  transfers;

  constructor(controller, { library, notify, changed }) {
    this.#controller = controller;
    this.#library = library;
    this.#notify = notify;
    this.#changed = changed;
    this.#history = new VaultHistory(controller);
    this.transfers = new VaultTransfers(controller,
      { changed, put: (file, records) => this.#handlePut(file, records) });
  }

  get isSending() { return this.transfers.isBusy; }

  /** Adds files that a person has chosen. @param {File[]} files */
  async add(files) {
    for (const blob of files) {
      const file = blob.name === "" ? "file" : blob.name;
      if (!isFileName(file)) {
        this.#notify(t("A file of the vault has a name of 1 to 255 bytes, without / and control "
          + "characters. Rename the file, and add it again."));
        continue;
      }
      const held = this.#library.contents.fileNamed(file);
      const answer = held === null ? "add"
        : await askToReplace({ file, about: this.#about(held) });
      if (answer === null) continue;
      const taken = new Set(this.#library.contents.files.map((it) => it.file));
      this.#send({ file: answer === "both" ? freeName(file, taken) : file, blob,
        seen: answer === "replace" ? held.sha256 : null });
    }
  }

  #send(upload) {
    if (this.transfers.add(upload)) return;
    this.#notify(t("At most {count} files wait to be sent. Add the others later.",
      { count: limits.vaultTransfers }));
  }

  #handlePut(file, records) {
    const isKept = records.filter(({ fields }) => fields !== null).length > 1;
    this.#notify(isKept
      ? t("{file} had been changed by another device meanwhile. Both versions are kept.", { file })
      : t("{file} is in the vault.", { file }));
  }

  /** Deletes a file on all devices, and offers to undo it. */
  async remove(name) {
    await this.#act(async () => {
      const held = this.#library.contents.file(name);
      const record = this.#controller.lockstep.record(vaultApp.zone, name);
      if (held === null || record === null || !await this.#isSure(held)) return;
      await this.#controller.act(vaultApp, { do: "remove", name, seen: held.sha256 });
      this.#notify(t("{file} is deleted on all devices.", { file: held.file }),
        { words: t("Undo"), act: () => this.#restore(name, record.fields) });
    });
  }

  /** A file that is sealed in an earlier way cannot be saved again by a browser. */
  async #isSure({ form, file }) {
    return form === "zone" || confirmAction({ title: t("Delete the file on all devices?"),
      words: t("{file} was added before the account was sealed: this browser cannot undo that.",
        { file }),
      yes: t("Delete") });
  }

  async #restore(name, fields) {
    await this.#act(async () => {
      await this.#controller.act(vaultApp, { do: "restore", name, fields });
      this.#notify(t("The file is back."));
    });
  }

  /** Ends a conflict. `original`, `copy`: names of records; `keep`: "this", "other" or "both" */
  async decide(original, copy, keep) {
    await this.#act(async () => {
      const { contents } = this.#library;
      const [file, other] = [contents.file(original), contents.file(copy)];
      if (!file || !other) return;
      const { fields } = this.#controller.lockstep.record(vaultApp.zone, copy);
      await this.#controller.act(vaultApp,
        { do: "resolve", copy, keep, was: file.sha256, copyWas: other.sha256 });
      const undo = { words: t("Undo"), act: () => this.#restore(copy, fields) };
      this.#notify({ this: t("The file is kept, and the other version is deleted."),
        other: t("The other version is kept."), both: t("Both are kept, each as a file.") }[keep],
      keep === "this" && other.form === "zone" ? undo : null);
    });
  }

  /** Decides a conflict of which this browser cannot read one side. */
  async choose(name, keepLocal) {
    await this.#act(() =>
      this.#controller.lockstep.decide({ zone: vaultApp.zone, name, keepLocal }));
  }

  // to read

  isFetching(name) { return this.#fetching.has(name); }

  stopFetching(name) { this.#fetching.get(name)?.abort(); }

  /** Gives a file to the browser to keep. */
  async save(name) {
    const file = this.#library.contents.file(name);
    if (file) await this.#saveContent(name, file);
  }

  async #saveContent(key, file) {
    const type = "application/octet-stream";
    const blob = await this.#fetch(key, file, type);
    if (blob) download(this.#controller.browser, file.file, type, blob);
  }

  /** Shows a file in a new tab. */
  async #open(name) {
    const file = this.#library.contents.file(name);
    const type = file && shownType(file.file);
    if (!type) return;
    const blob = await this.#fetch(name, file, type);
    if (!blob) return;
    const url = URL.createObjectURL(blob);
    this.#controller.browser.setTimer(() => URL.revokeObjectURL(url), limits.copyMilliseconds);
    // A browser lets a page open a tab only shortly after a press.
    if (!this.#controller.browser.isPressed) offerToOpen({ file: file.file, url });
    else element("a", { href: url, target: "_blank", rel: "noopener" }).click();
  }

  /** Resolves with null if it could not be fetched. */
  async #fetch(key, file, type) {
    if (this.#fetching.has(key)) return null;
    const controller = new AbortController();
    this.#fetching.set(key, controller);
    this.#changed();
    try {
      return await this.#controller.lockstep.files.download(vaultApp.zone,
        { ...file, name: file.file },
        { type, signal: controller.signal, open: this.#library.contents.opener(file) });
    } catch (error) {
      const isStopped = error instanceof FileError && error.code === "aborted";
      this.#notify(isStopped ? t("The download was stopped.") : errorText(error));
      if (error.code === "missing") this.#library.checkContent();
      return null;
    } finally {
      this.#fetching.delete(key);
      this.#changed();
    }
  }

  // details

  async showDetails(name) {
    const file = this.#library.contents.file(name);
    if (!file) return;
    const events = await this.#history.of(file.file).catch(() => []);
    const { scope, lockedZones } = this.#controller.status;
    const isFixed = isReadOnly(scope) || lockedZones.includes(vaultApp.zone)
      || !this.#library.isZoneSealed;
    const actions = [
      { words: t("Open"), name: "open", act: () => this.#open(name) },
      { words: t("Download"), name: "save", act: () => this.save(name) },
      { words: t("Replace"), name: "replace", changes: true, act: () => this.#replace(file) },
      { words: t("Delete"), name: "delete", changes: true, act: () => this.remove(name) },
    ].filter((it) => it.name !== "open" || shownType(file.file) !== null);
    showDetails({
      file: file.file, about: this.#about(file), state: stateOf(file, this.#library.known).words,
      actions, versions: events.filter(({ sha256 }) => sha256 !== file.sha256)
        .map((event) => this.#version(file, event)),
    }, isFixed);
  }

  /** Lets a person choose the new content of a file, whatever the name of that is. */
  #replace({ file, sha256 }) {
    const input = element("input", { type: "file", on: { change: () => {
      const [blob] = input.files;
      if (blob) this.#send({ file, blob, seen: sha256 });
    } } });
    input.click();
  }

  #version(file, event) {
    const contents = contentsOf(event.fields, event.name);
    const saved = { ...contents, file: file.file };
    const named = { about: this.#about(event), when: this.#ago(event.at) };
    return {
      about: event.kind === "removed" ? t("{about}; deleted {when}", named)
        : t("{about}; replaced {when}", named),
      actions: [
        { words: t("Download"), act: () => this.#saveContent(`version ${event.sha256}`, saved) },
        { words: t("Restore"), changes: true,
          act: () => this.#restoreVersion(file, contents, event) },
      ].filter(({ changes }) => !changes || contents.form === "zone"),
    };
  }

  async #restoreVersion({ file, sha256 }, contents, { fields }) {
    await this.#act(async () => {
      const { files } = this.#controller.lockstep;
      const missing = await files.missing(vaultApp.zone, contents.chunks);
      if (missing.length > 0) {
        this.#notify(t("The relay does not have the content of this version any more."));
        return;
      }
      await this.#controller.act(vaultApp, { do: "put", file, fields, seen: sha256 });
      this.#notify(t("The version of {size} is restored.", { size: sizeText(contents.bytes) }));
    });
  }

  #about(version) {
    const { now, minutesAhead } = this.#controller;
    const { deviceNames } = this.#controller.state(vaultApp);
    const { device } = version;
    const deviceName = Object.hasOwn(deviceNames, device) ? deviceNames[device] : device;
    return aboutText({ ...version, deviceName }, { now, minutesAhead });
  }

  #ago(instant) { return ago(instant, this.#controller.now, this.#controller.minutesAhead); }

  async #act(act) {
    try {
      await act();
    } catch (error) {
      this.#notify(errorText(error));
    }
  }
}
