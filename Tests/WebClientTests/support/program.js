import { execFileSync } from "node:child_process";

/** Path of the real program, from LOCKSTEP_BINARY; undefined if not set. */
export const program = process.env.LOCKSTEP_BINARY;

/** Options of a test that needs the program. Without it the test is skipped, with this reason. */
export const needsProgram = { skip: program ? false : "LOCKSTEP_BINARY does not name the program" };

/** Runs a command of the program to its end, and returns its output. */
export function run(words, input = "") {
  return execFileSync(program, words, {
    input, encoding: "utf8", maxBuffer: 256 << 20, timeout: 60_000,
  });
}
