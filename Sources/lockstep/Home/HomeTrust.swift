import Glibc
import LockstepEventLoop
import LockstepModel

/// Whom a command, or a home, believes when a relay shows its certificate: the authorities that the
/// system trusts, or those of a file that a person names, and nobody else.
///
///     HOME/relay-ca.pem     a copy of what was named when the home joined; not there: the system's
///
/// The home has a copy, so that what a person calls `ca.pem` today may move or change. An owner
/// whose authority changes replaces it.
struct HomeTrust {
  let trust: Trust
  /// As it stands in the file; nil for the system's.
  private let text: [UInt8]?

  static let option = CommandOption.optional(
    "ca", ValueKind.file,
    "Believe a relay whose certificate an authority in this PEM file has signed, and no other; "
      + "those that the system trusts if not given.")

  static let system = HomeTrust(trust: .system, text: nil)

  /// The file that a person names, if any.
  static func named(_ path: String?) throws(CommandFailure) -> HomeTrust {
    guard let path else { return .system }
    guard let found = try read(path) else { throw PlainFile.failure(path, "be read", ENOENT) }
    return found
  }

  /// What the home keeps.
  static func of(_ folder: HomeFolder) throws(CommandFailure) -> HomeTrust {
    try read(folder.authorities) ?? .system
  }

  private static func read(_ path: String) throws(CommandFailure) -> HomeTrust? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw PlainFile.failure(path, "be read", errno)
    }
    let file = PlainFile(path: path, descriptor: descriptor)
    let text = try file.contents(atMost: Limits.certificatesBytes, path)
    do throws(CertificateFault) {
      return HomeTrust(trust: try Trust(authorities: text), text: text)
    } catch {
      throw CommandFailure("\(path) cannot be used: \(error)")
    }
  }

  /// Puts it into the home; the system's needs no file.
  func keep(in folder: HomeFolder) throws(CommandFailure) {
    guard let text else { return }
    let fresh = folder.authorities + ".new"
    let descriptor = PlainFile.makeDraft(fresh)
    guard descriptor >= 0 else { throw PlainFile.failure(fresh, "be written", errno) }
    let file = PlainFile(path: fresh, descriptor: descriptor)
    try file.write(text)
    let isDurable = withExtendedLifetime(file) { fsync(descriptor) == 0 }
    guard isDurable, rename(fresh, folder.authorities) == 0 else {
      throw PlainFile.failure(folder.authorities, "be written", errno)
    }
  }
}
