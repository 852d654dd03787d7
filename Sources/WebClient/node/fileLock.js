import { createHash, randomBytes } from "node:crypto";
import { link, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";

/** Attempts to take a lock that others take and release meanwhile. */
const tries = 3;

/** Age at which a lock that names no process is left over from a crash, and not being made. */
const unnamedMilliseconds = 10_000;

/** Errors of file systems without hard links. */
const linkless = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"];

/**
 * Lock between processes: a file that names its holder, one line each: the process's id, the id of
 * this run of the system, the process's start in it (both only on Linux), and the lock's own id,
 * which is random. The id of a process alone does not name it: after a restart of the machine, and
 * of a container above all, another process has it. So a folder must not be shared by containers
 * that run at once.
 *
 * A lock whose process has ended is replaced by a rename. Only one process at a time may do that:
 * the one that holds a second lock, which is named by the content of the first. So whoever has read
 * the old lock before the rename, and comes late, finds another content and replaces nothing.
 */
export class FileLock {
  id = randomBytes(8).toString("hex");
  /** Ids of the locks that this process holds or is about to take. */
  static #own = new Set();
  #path;
  #text = null;

  constructor(path) { this.#path = path; }

  /** Takes the lock. Returns null, or words for the process that holds it. */
  async take() {
    FileLock.#own.add(this.id);
    let isTaken = false;
    try {
      const holder = await this.#take();
      isTaken = holder === null;
      return holder;
    } finally {
      if (!isTaken) FileLock.#own.delete(this.id);
    }
  }

  /** Leaves a lock that another process has made after someone had removed this one. */
  async release() {
    if (await textAt(this.#path) === this.#text) await remove(this.#path);
    FileLock.#own.delete(this.id);
  }

  async #take() {
    const { boot, start } = await bornOf(process.pid);
    this.#text = `${[process.pid, boot, start, this.id].join("\n")}\n`;
    const draft = `${this.#path}.${this.id}`;
    await writeFile(draft, this.#text, { flag: "wx", mode: 0o600 });
    try {
      for (let count = 0; count < tries; count += 1) {
        if (await this.#isMade(draft)) return null;
        const found = await textAt(this.#path);
        if (found === null) continue;
        const holder = await holderOf(this.#path, found, (id) => FileLock.#own.has(id));
        if (holder !== null) return holder;
        if (await this.#replace(found, draft)) return null;
      }
      return "another process";
    } finally {
      await remove(draft);
    }
  }

  /** Makes the lock file with its content in one step. Returns false if there is one. */
  async #isMade(draft) {
    try {
      await link(draft, this.#path).catch((error) => {
        if (!linkless.includes(error.code)) throw error;
        return writeFile(this.#path, this.#text, { flag: "wx", mode: 0o600 });
      });
      return true;
    } catch (error) {
      if (error.code === "EEXIST") return false;
      throw error;
    }
  }

  async #replace(found, draft) {
    const name = createHash("sha256").update(found).digest("hex").slice(0, 16);
    const guard = new FileLock(`${this.#path}.${name}`);
    if (await guard.take() !== null) return false;
    try {
      if (await textAt(this.#path) !== found) return false;
      await rename(draft, this.#path);
      return true;
    } finally {
      await guard.release();
    }
  }
}

/** Returns words for the process that holds a lock; null if it has ended. */
async function holderOf(path, text, isOwn) {
  const [pid, boot = "", start = "", id = ""] = text.split("\n");
  if (/^[1-9][0-9]{0,14}$/.test(pid)) {
    const holder = { pid: Number(pid), boot, start, id };
    return await isHolding(holder, isOwn) ? `process ${pid}` : null;
  }
  // Older programs make the file before they write their id.
  const made = await stat(path).catch(() => null);
  const isNew = made !== null && Date.now() - made.mtimeMs < unnamedMilliseconds;
  return isNew ? "another process" : null;
}

/** True if the process of that id is still the one that took the lock, as far as is known. */
async function isHolding({ pid, boot, start, id }, isOwn) {
  if (!isRunning(pid)) return false;
  const now = await bornOf(pid);
  const isKnown = [boot, start, now.boot, now.start].every((it) => it !== "");
  if (isKnown) return boot === now.boot && start === now.start;
  const isOther = boot !== "" && now.boot !== "" && boot !== now.boot;
  return !isOther && (pid !== process.pid || isOwn(id));
}

/** Returns the id of this run of the system, and the start of a process in it; "" if the system
 * does not say. */
async function bornOf(pid) {
  const [boot, status] = await Promise.all(
    ["/proc/sys/kernel/random/boot_id", `/proc/${pid}/stat`].map((path) =>
      readFile(path, "utf8").catch(() => "")));
  // The second field, the program's name in parentheses, may hold any character. The start is the
  // twenty-second.
  const [, start = ""] = /^.*\)(?: \S+){19} (\S+)/s.exec(status) ?? [];
  return { boot: boot.trim(), start };
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** Returns the text of a file; null if there is no file. */
async function textAt(path) {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw error;
  }
}

async function remove(path) {
  try {
    await unlink(path);
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
  }
}
