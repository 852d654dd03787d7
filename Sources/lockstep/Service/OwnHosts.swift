import Glibc
import LockstepWire

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
