import LockstepModel
import LockstepWire

/// Refuses requests that name another host than the relay (`AllowedHosts`).
extension RelayNode {
  /// Returns nil if the request names the relay, or no host at all. The control socket is not
  /// checked, because browsers cannot reach it; health checks are not, because a page cannot use
  /// their answers.
  mutating func refusalOfHost(
    _ slot: Hub.Slot, _ head: HTTPRequestHead, of routing: Router.Routing
  ) -> Refusal? {
    switch routing {
    case .call(.health(.live)), .call(.health(.ready)): return nil
    case .call, .options, .refused: break
    }
    guard connections[slot].opening.door != .control, !hosts.isAny else { return nil }
    // A trusted proxy may forward these fields as its client wrote them, so all must be allowed.
    for forwarded in connections[slot].client.hosts where !hosts.allow(forwarded) {
      return refuseHost(forwarded)
    }
    if let host = head.target.authority { return hosts.allow(host) ? nil : refuseHost(host) }
    guard let bytes = head.headers.bytes(of: "Host"), !allowedHost.elementsEqual(bytes) else {
      return nil
    }
    let host = String(decoding: bytes, as: UTF8.self)
    guard hosts.allow(host) else { return refuseHost(host) }
    allowedHost = Array(bytes)
    return nil
  }

  private mutating func refuseHost(_ host: String) -> Refusal {
    let refusal = AllowedHosts.refusal(host)
    if !hasToldOfHost {
      hasToldOfHost = true
      actions.append(.report(.unknownHost(refusal)))
    }
    return refusal
  }
}
