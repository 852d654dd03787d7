import { execFileSync } from "node:child_process";

/** The path of the real program, from LOCKSTEP_BINARY; undefined where it is not given. */
export const program = process.env.LOCKSTEP_BINARY;

/** The options of a test that asks the program. Without one it is skipped, and says so. */
export const needsProgram = { skip: program ? false : "LOCKSTEP_BINARY does not name the program" };

/** Runs a command of the program to its end, and gives what it printed. */
export function run(words, input = "") {
  return execFileSync(program, words, {
    input, encoding: "utf8", maxBuffer: 256 << 20, timeout: 60_000,
  });
}
