import Glibc
import LockstepCommandLine
import LockstepEventLoop
import LockstepRuntime

/// Certificate of a relay: its files, and warnings to the owner.
package enum RelayCertificate {
  /// Loads the certificate if both files are named; returns nil if neither is.
  package static func named(
    _ certificate: String?, key: String?
  ) throws(CommandFailure) -> ServerCertificate? {
    switch (certificate, key) {
    case (nil, nil): return nil
    case (.some, nil):
      throw CommandFailure("--tls-cert needs --tls-key, the file of its key", exitCode: .usage)
    case (nil, .some):
      throw CommandFailure(
        "--tls-key needs --tls-cert, the file of its certificate", exitCode: .usage)
    case (let certificate?, let key?):
      return try CommandFailure.wrap { () throws(CertificateFault) in
        try ServerCertificate(certificate: certificate, key: key)
      }
    }
  }

  /// Warns if the certificate is not valid now. The relay runs all the same, because the program
  /// that renews the certificate may have started it.
  package static func warn(of certificate: ServerCertificate, _ log: Log) {
    switch certificate.validity {
    case .valid: break
    case .expired:
      log.warning("the certificate has expired, and devices reject it; renew it, then send SIGHUP")
    case .notYetValid:
      log.warning("the certificate is not valid yet; check this machine's clock")
    }
  }

  /// Reads the certificate's files again.
  package static func reload(_ certificate: ServerCertificate, _ log: Log) {
    do throws(CertificateFault) {
      try certificate.reload()
      log.info("the certificate was reloaded")
      warn(of: certificate, log)
    } catch {
      log.error(
        "\(error); then send SIGHUP again. New connections still use the previous certificate")
    }
  }
}

/// Names by which a relay is reached without configuration: this machine's own name, also in the
/// form of the local network's name service (`nas` as `nas.local`, RFC 6762), and its listen
/// addresses.
///
/// No one outside the local network can make these names resolve to another address, which is the
/// attack that the check of names prevents. The owner must list other names that a router assigns
/// (`nas.lan`).
enum OwnHosts {
  static func names(hostname: String, listen: [PeerAddress]) -> [String] {
    var names: [String] = []
    if let label = hostname.split(separator: ".").first.map(String.init) {
      names += [hostname, label, label + ".local"]
    }
    for case .host(let host, _) in listen { names.append(host) }
    return names
  }

  /// Name of this machine; empty if the system does not report one.
  static var hostname: String {
    var facts = utsname()
    guard uname(&facts) == 0 else { return "" }
    return withUnsafeBytes(of: &facts.nodename) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
