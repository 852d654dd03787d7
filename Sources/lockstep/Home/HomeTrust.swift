import Glibc
import LockstepEventLoop
import LockstepModel

/// Authorities that a command or a home trusts for a relay's certificate: those that the system
/// trusts, or only those in a file that a person names.
///
///     HOME/relay-ca.pem     copy of the file named when the home joined; if missing, the system's
///
/// The home has a copy, because the named file may move or change. An owner whose authority changes
/// replaces the copy.
struct HomeTrust {
  let trust: Trust
  /// Content of the file; nil for the system's authorities.
  private let text: [UInt8]?

  static let option = CommandOption.optional(
    "ca", ValueKind.file,
    "Believe a relay whose certificate an authority in this PEM file has signed, and no other; "
      + "those that the system trusts if not given.")

  static let system = HomeTrust(trust: .system, text: nil)

  /// Reads the file that a person names; returns the system's authorities if `path` is nil.
  static func named(_ path: String?) throws(CommandFailure) -> HomeTrust {
    guard let path else { return .system }
    guard let found = try read(path) else { throw PlainFile.failure(path, "be read", ENOENT) }
    return found
  }

  /// Returns the authorities that the home keeps.
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

  /// Stores the authorities in the home; the system's need no file.
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
