import Lockstep
import LockstepCommandLine

/// A home's files, for commands.
extension HomeTrust {
  package static let option = CommandOption.optional(
    "ca", ValueKind.file,
    "Accept only certificates signed by an authority in this PEM file; if not given, by one "
      + "that the system trusts.")

  /// Reads the file that a person names; returns the system's authorities if `path` is nil.
  package static func named(_ path: String?) throws(CommandFailure) -> HomeTrust {
    guard let path else { return .system }
    return try CommandFailure.wrap { () throws(HomeFault) in try file(path) }
  }

  /// Returns the authorities that the home keeps.
  package static func of(_ folder: HomeFolder) throws(CommandFailure) -> HomeTrust {
    try CommandFailure.wrap { () throws(HomeFault) in try kept(in: folder) }
  }
}
