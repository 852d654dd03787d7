import LockstepCommandLine
import LockstepCrypto
import LockstepGateway
import LockstepModel
import LockstepStorageSQLite
import LockstepWire

/// `lockstep version`: the same as `--version` and `-V`.
enum VersionCommand {
  static let command: Command = Command(
    name: "version",
    summary: "Prints the version of the program and of its libraries."
  ) { _ throws(CommandFailure) in try printVersion() }

  static func printVersion() throws(CommandFailure) -> ExitCode {
    try TerminalOutput.printed(
      "\(RootCommand.root.name) \(LockstepVersion.current)\nOpenSSL \(LinkedOpenSSL.version), "
        + "SQLite \(LinkedSQLite.version), zlib \(LinkedZlib.version), "
        + "nghttp2 \(LinkedNghttp2.version)")
  }
}
