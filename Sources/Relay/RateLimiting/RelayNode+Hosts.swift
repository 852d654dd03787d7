import LockstepModel
import LockstepWire

/// Requests that name another host than the relay (`AllowedHosts`).
extension RelayNode {
  /// nil where the request names the relay, or no host at all. The control socket is no place that
  /// a browser reaches, and who asks for health says nothing that a page could use.
  mutating func refusalOfHost(
    _ slot: Hub.Slot, _ headers: HTTPHeaders, of routing: Router.Routing
  ) -> Refusal? {
    switch routing {
    case .call(.health(.live)), .call(.health(.ready)): return nil
    case .call, .options, .refused: break
    }
    guard connections[slot].opening.door != .control, !hosts.isAny else { return nil }
    // A trusted proxy may pass on what its client wrote into X-Forwarded-Host, so both must hold.
    if let forwarded = connections[slot].client.host, !hosts.allow(forwarded) {
      return refuseHost(forwarded)
    }
    guard let bytes = headers.bytes(of: "Host"), !allowedHost.elementsEqual(bytes) else {
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
