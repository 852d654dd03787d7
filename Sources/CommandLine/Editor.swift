import Glibc
import LockstepLanguage
import LockstepModel

/// The person's editor, for texts of more than one line.
package enum Editor {
  /// Passes the edited `text` to `body`; without a terminal, the text from standard input. If that
  /// fails, the draft stays in a file, and the error names its path.
  package static func edit(
    _ text: String, suffix: String, _ noun: String,
    _ body: (String) throws(CommandFailure) -> ExitCode
  ) throws(CommandFailure) -> ExitCode {
    guard isatty(STDIN_FILENO) == 1 else {
      return try body(
        try StandardInput.text(try StandardInput.read(atMost: Limits.recordBytes, noun), noun))
    }
    let path = try createDraft(text, suffix)
    do throws(CommandFailure) {
      try run(on: path)
      let code = try body(try StandardInput.text(try readDraft(of: path, noun), noun))
      unlink(path)
      return code
    } catch {
      let reason = error.message ?? localized("it was not saved")
      throw CommandFailure(
        localized("{reason}; your text is in {path}", ["reason": reason, "path": path]),
        exitCode: error.exitCode)
    }
  }

  /// Runs the editor through the shell, as git does, so that its command may have arguments.
  private static func run(on path: String) throws(CommandFailure) {
    let variables = ["VISUAL", "EDITOR"] as [String]
    let named = variables.compactMap { getenv($0) }.map { String(cString: $0) }
    let editor = named.first { !$0.isEmpty } ?? "vi"
    guard run(["/bin/sh", "-c", editor + " \"$1\"", "sh", path]) == 0 else {
      throw CommandFailure(localized("the editor ({editor}) failed", ["editor": editor]))
    }
  }

  /// Creates a file with the text, for its owner only.
  private static func createDraft(
    _ text: String, _ suffix: String
  ) throws(CommandFailure) -> String {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((folder + "/lockstep-XXXXXX" + suffix).utf8CString)
    let descriptor = mkstemps(&template, Int32(suffix.utf8.count))
    guard descriptor >= 0 else {
      throw CommandFailure(
        localized(
          "no file can be created in {folder}: {reason}",
          ["folder": folder, "reason": systemReason(String(cString: strerror(errno)))]))
    }
    let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    do throws(CommandFailure) {
      try PlainFile(path: path, descriptor: descriptor).write(Array(text.utf8))
    } catch {
      unlink(path)
      throw error
    }
    return path
  }

  private static func readDraft(
    of path: String, _ noun: String
  ) throws(CommandFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return try PlainFile(path: path, descriptor: descriptor)
      .contents(atMost: Limits.recordBytes, noun)
  }

  /// Runs a program on this terminal. Returns its exit status, or -1 if it could not be run.
  private static func run(_ words: [String]) -> Int32 {
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    guard posix_spawn(&process, words[0], nil, nil, &arguments, environ) == 0 else { return -1 }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 { if errno != EINTR { return -1 } }
    return status
  }
}
