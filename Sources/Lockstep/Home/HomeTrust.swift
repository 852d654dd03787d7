import LockstepLanguage
import LockstepModel

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if os(Linux)
  import LockstepEventLoop
#endif

/// Authorities that a command or a home trusts for a relay's certificate: those that the system
/// trusts, or only those in a file that a person names.
///
///     HOME/relay-ca.pem     copy of the file named when the home joined; if missing, the system's
///
/// The home has a copy, because the named file may move or change. An owner whose authority changes
/// replaces the copy.
package struct HomeTrust {
  package let trust: Trust
  /// Content of the file; nil for the system's authorities.
  private let text: [UInt8]?

  package static let system = HomeTrust(trust: .system, text: nil)

  /// Reads the file that a person names.
  package static func file(_ path: String) throws(HomeFault) -> HomeTrust {
    guard let found = try read(path) else { throw HomeFault(path, "be read", ENOENT) }
    return found
  }

  /// Returns the authorities that the home keeps.
  package static func kept(in folder: HomeFolder) throws(HomeFault) -> HomeTrust {
    try read(folder.authorities) ?? .system
  }

  private static func read(_ path: String) throws(HomeFault) -> HomeTrust? {
    guard let text = try HomeFile.contents(of: path, atMost: Limits.certificatesBytes) else {
      return nil
    }
    do throws(CertificateFault) {
      return HomeTrust(trust: try Trust(authorities: text), text: text)
    } catch {
      throw HomeFault(
        localized("{path} cannot be used: {reason}", ["path": path, "reason": "\(error)"]))
    }
  }

  /// Stores the authorities in the home; the system's need no file.
  package func store(in folder: HomeFolder) throws(HomeFault) {
    guard let text else { return }
    try HomeFile.replace(folder.authorities, by: text)
  }
}
