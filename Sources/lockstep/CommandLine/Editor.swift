import Glibc
import LockstepModel

/// The person's own editor, for texts of more than a line.
enum Editor {
  /// Hands on what the person made of `text`; where no terminal is there, what comes on standard
  /// input. Where that cannot be used, what was written stays in a file, and its path is told.
  static func edit(
    _ text: String, suffix: String, _ noun: String,
    _ use: (String) throws(CommandFailure) -> ExitCode
  ) throws(CommandFailure) -> ExitCode {
    guard isatty(STDIN_FILENO) == 1 else {
      return try use(
        try StandardInput.text(try StandardInput.read(atMost: Limits.recordBytes, noun), noun))
    }
    let path = try draft(text, suffix)
    do throws(CommandFailure) {
      try run(on: path)
      let code = try use(try StandardInput.text(try contents(of: path, noun), noun))
      unlink(path)
      return code
    } catch {
      let reason = error.message ?? "it was not saved"
      throw CommandFailure("\(reason); what you wrote is in \(path)", exitCode: error.exitCode)
    }
  }

  /// As git does it: through the shell, so that an editor may have arguments.
  private static func run(on path: String) throws(CommandFailure) {
    let variables = ["VISUAL", "EDITOR"] as [String]
    let named = variables.compactMap { getenv($0) }.map { String(cString: $0) }
    let editor = named.first { !$0.isEmpty } ?? "vi"
    guard run(["/bin/sh", "-c", editor + " \"$1\"", "sh", path]) == 0 else {
      throw CommandFailure("the editor (\(editor)) did not end well")
    }
  }

  /// A file with the text, for its owner alone.
  private static func draft(_ text: String, _ suffix: String) throws(CommandFailure) -> String {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((folder + "/lockstep-XXXXXX" + suffix).utf8CString)
    let descriptor = mkstemps(&template, Int32(suffix.utf8.count))
    guard descriptor >= 0 else {
      throw CommandFailure("no file can be made in \(folder): \(String(cString: strerror(errno)))")
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

  private static func contents(
    of path: String, _ noun: String
  ) throws(CommandFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    return try PlainFile(path: path, descriptor: descriptor)
      .contents(atMost: Limits.recordBytes, noun)
  }

  /// The exit status of a program that has this terminal; -1 where it could not be run.
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
