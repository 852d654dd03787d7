import LockstepModel
import LockstepWire

/// Refuses requests that name another host than the relay (`AllowedHosts`).
struct HostCheck: Sendable {
  private var hosts: AllowedHosts
  /// The value of `Host` that was last found to be one of the names: most requests have the same.
  private var allowedHost: [UInt8] = []

  init(_ hosts: AllowedHosts) { self.hosts = hosts }

  /// Returns the host that is not allowed; nil if the request names the relay, or no host at all.
  /// `forwarded`: the hosts that a trusted proxy reports.
  mutating func refusedHost(of head: HTTPRequestHead, forwarded: [String]) -> String? {
    if hosts.isAny { return nil }
    // A trusted proxy may forward these fields as its client wrote them, so all must be allowed.
    for host in forwarded where !hosts.allow(host) { return host }
    if let host = head.target.authority { return hosts.allow(host) ? nil : host }
    guard let bytes = head.headers.bytes(of: "Host"), !isAllowed(bytes) else { return nil }
    let host = String(decoding: bytes, as: UTF8.self)
    guard hosts.allow(host) else { return host }
    allowedHost = Array(bytes)
    return nil
  }

  /// True if the value is the one that was last found to be allowed.
  private func isAllowed(_ host: ArraySlice<UInt8>) -> Bool {
    guard host.count == allowedHost.count else { return false }
    let start = host.startIndex
    for index in allowedHost.indices where allowedHost[index] != host[start + index] {
      return false
    }
    return true
  }
}
