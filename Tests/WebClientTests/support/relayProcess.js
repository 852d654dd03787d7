import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { program, run } from "./program.js";

/** A separate relay in its own folder, which can be stopped and started again. */
export class RelayProcess {
  static async start() {
    const relay = new RelayProcess();
    relay.folder = mkdtempSync(join(tmpdir(), "lockstep-pages-"));
    relay.store = join(relay.folder, "store");
    relay.backup = join(relay.folder, "backup");
    await relay.start();
    return relay;
  }

  /** Starts the relay on a port that the system chooses; a restarted relay keeps its port. */
  async start() {
    const listen = this.url ? new URL(this.url).host : "127.0.0.1:0";
    this.process = spawn(
      program, ["relay", "--open", "--listen", listen, "--store", this.store],
      { stdio: ["ignore", "ignore", "pipe"] });
    this.ended = new Promise((resolve) => { this.process.once("exit", resolve); });
    const said = [];
    for await (const line of createInterface(this.process.stderr)) {
      said.push(line);
      this.url = /listening on (\S+)/u.exec(line)?.[1];
      if (this.url) break;
    }
    if (!this.url) throw new Error(`the relay did not start: ${said.join("\n")}`);
    this.process.stderr.resume();
  }

  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }

  /** Makes a complete copy next to the store while the relay runs. */
  backUp() { run(["relay", "backup", this.backup, "--store", this.store]); }

  async putBack() {
    await this.stop();
    run(["relay", "restore", this.backup, "--store", this.store, "--force"]);
    await this.start();
  }

  async remove() {
    await this.stop("SIGKILL");
    rmSync(this.folder, { recursive: true });
  }
}
