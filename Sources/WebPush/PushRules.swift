import LockstepModel

/// Rules for the hosts to which the relay sends pushes: port 443, a full name or a global address,
/// and only global addresses behind a name. The relay's owner may name exceptions.
package struct PushRules: Hashable, Sendable {
  /// Origins of the exceptions. The port counts too: `ntfy.lan` allows only 443.
  private var allowedOrigins: Set<String> = []

  package init() {}

  /// `exceptions`: `HOST` or `HOST:PORT` each, without patterns, at most `Limits.wakeExceptions`.
  package init(allowing exceptions: [String]) throws(PushRulesFault) {
    guard exceptions.count <= Limits.wakeExceptions else { throw .tooMany }
    for text in exceptions {
      guard !text.contains(where: { "/?#@".contains($0) }) else { throw .invalid(text) }
      do throws(PushEndpointFault) {
        allowedOrigins.insert(try PushEndpoint("https://" + text).origin)
      } catch {
        throw .invalid(text)
      }
    }
  }

  /// Returns the reason for which no push goes to the endpoint; nil if there is none before its
  /// name is resolved.
  package func refusal(of endpoint: PushEndpoint) -> PushRefusal? {
    switch endpoint.host {
    case .address(let address):
      if let refusal = refusal(AddressScope(address), of: endpoint) { return refusal }
    case .name(let name):
      // The resolver completes it with a domain of the owner's network.
      if !name.contains("."), !allowsLocal(endpoint) { return .singleLabel }
    }
    let isUsual = endpoint.port == PushEndpoint.usualPort
    return isUsual || allowsLocal(endpoint) ? nil : .port(endpoint.port)
  }

  /// Returns the reason for which the relay does not connect to an address of the endpoint; nil if
  /// there is none. Must be called with the address of the connection itself: a name that is
  /// resolved a second time may have another one.
  ///
  /// `address`: 4 or 16 bytes, in network order.
  package func refusal(of endpoint: PushEndpoint, at address: [UInt8]) -> PushRefusal? {
    refusal(of: endpoint) ?? refusal(AddressScope(address), of: endpoint)
  }

  private func refusal(_ scope: AddressScope, of endpoint: PushEndpoint) -> PushRefusal? {
    scope.refusal(allowsLocal: allowsLocal(endpoint)).map { .address($0) }
  }

  /// True if the owner has named the endpoint's host, which may then be in his own network.
  package func allowsLocal(_ endpoint: PushEndpoint) -> Bool {
    allowedOrigins.contains(endpoint.origin)
  }
}

/// Reason for which the relay sends no push to a host.
package enum PushRefusal: Hashable, Sendable, CustomStringConvertible {
  /// The port is not 443.
  case port(UInt16)
  /// The name has no domain.
  case singleLabel
  /// The address is not global; the kind of the address.
  case address(String)
  /// The same for all addresses that the host's name has now.
  case resolvedAddresses

  package var description: String {
    switch self {
    case .port(let port): "port \(port) is not 443"
    case .singleLabel: "the host has no domain"
    case .address(let kind): "the address is not a global one (\(kind))"
    case .resolvedAddresses: "the host has no address to which pushes may go"
    }
  }
}

/// Fault in the owner's exceptions.
package enum PushRulesFault: Error, Hashable, CustomStringConvertible {
  case invalid(String)
  case tooMany

  package var description: String {
    switch self {
    case .invalid(let text):
      "\"\(text)\" is not HOST or HOST:PORT; name each host, patterns are not supported"
    case .tooMany: "at most \(Limits.wakeExceptions) hosts can be allowed"
    }
  }
}
