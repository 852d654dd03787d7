import Glibc
import LockstepWire

/// The names by which a relay is reached without its owner saying so: this machine's own, also as
/// the local network's name service has it (`nas` as `nas.local`, RFC 6762), and where it listens.
///
/// Nobody beyond the local network can have one of them lead elsewhere, which is what names are
/// checked for. Other names that a router gives (`nas.lan`) are for the owner to list.
enum OwnHosts {
  static func names(hostname: String, listen: [PeerAddress]) -> [String] {
    var names: [String] = []
    if let label = hostname.split(separator: ".").first.map(String.init) {
      names += [hostname, label, label + ".local"]
    }
    for case .host(let host, _) in listen { names.append(host) }
    return names
  }

  /// Empty where the system does not tell it.
  static var hostname: String {
    var facts = utsname()
    guard uname(&facts) == 0 else { return "" }
    return withUnsafeBytes(of: &facts.nodename) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
