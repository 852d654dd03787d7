import LockstepClient
import LockstepCommandLine
import LockstepRuntime

/// Decisions of a person who sets up a relay, and the settings that follow from them.
struct SetupPlan {
  /// Way in which devices are protected on their way to the relay.
  enum Certificate: String, CaseIterable {
    /// The relay gets its certificate by itself.
    case acme
    /// A proxy in front of the relay has it.
    case proxy
    case files
    case none
  }

  /// Address by which devices reach the relay.
  var address: RelayAddress
  var certificate: Certificate
  /// Files of the certificate and its key, for `files`.
  var files: (certificate: String, key: String)?
  /// Address for the authority, for `acme`.
  var email: String?
  /// Address to listen on; nil: the one that follows from the rest.
  var listen: PeerAddress?
  /// Address for metrics, health and the owner's page; nil: none.
  var adminListen: PeerAddress?
  /// Proxies that the file of settings trusts.
  var proxies: String?
  /// Addresses and networks of the proxy, if a person gives them now.
  var proxyNetwork: String?
  var isOpen: Bool
  /// The store if it is not the usual one, as a person writes it.
  var store: String?
  /// True if this machine has IPv6, whose wildcard address also accepts IPv4.
  var hasIPv6: Bool

  /// All settings that the setup decides; nil: the default.
  var settings: [(key: String, value: String?)] {
    let isACME = certificate == .acme
    var settings: [(key: String, value: String?)] = [
      ("public-url", address.link), ("listen", listening.text),
      ("tls-cert", files?.certificate), ("tls-key", files?.key),
      ("acme", isACME ? "true" : nil), ("acme-agree", isACME ? "true" : nil),
      ("acme-email", isACME ? email : nil),
      ("trust-proxy", trustedProxies), ("open", isOpen ? "true" : nil),
    ]
    // It needs `acme`.
    if !isACME { settings.append(("http-listen", nil)) }
    if let adminListen { settings.append(("admin-listen", adminListen.text)) }
    if let store { settings.append(("store", store)) }
    return settings
  }

  /// Address at which only this machine reaches the owner's page.
  static let usualAdminListen = PeerAddress.host("127.0.0.1", port: usualAdminPort)
  static let usualAdminPort: UInt16 = 5_626

  static let usualProxies = "127.0.0.0/8,::1"

  /// Proxies that a person has chosen stay.
  private var trustedProxies: String? {
    if certificate == .proxy { return proxyNetwork ?? proxies ?? Self.usualProxies }
    return proxies == Self.usualProxies ? nil : proxies
  }

  /// A proxy is taken to run on this machine, unless its network is given.
  var listening: PeerAddress {
    if let listen { return listen }
    if certificate == .proxy {
      guard proxyNetwork == nil || proxyNetwork == Self.usualProxies else {
        return .host(hasIPv6 ? "::" : "0.0.0.0", port: RelayAddress.usualPort)
      }
      return .host("127.0.0.1", port: RelayAddress.usualPort)
    }
    if PlainAddress.isLoopback(address.host) { return .host("127.0.0.1", port: address.port) }
    return .host(hasIPv6 ? "::" : "0.0.0.0", port: address.port)
  }

  /// Returns a warning of a relay without a certificate that others can reach; nil if there is
  /// nothing to warn of.
  var warning: String? {
    guard certificate == .none, !PlainAddress.isLoopback(address.host) else { return nil }
    return "devices reach this relay by \(address.link), which is not encrypted: others in the "
      + "network can read the devices' tokens and all data that is not sealed. For https://, give "
      + "the relay a name: lockstep setup --public-url https://NAME"
  }

  /// Returns a sentence on what does not fit together; nil if all does.
  var fault: String? {
    switch (certificate, address.isSecure) {
    case (.none, true):
      "\(address.link) begins with https://, so the relay needs a certificate: --tls acme, proxy "
        + "or files"
    case (.acme, false), (.proxy, false), (.files, false):
      "\(address.link) begins with http://, where no certificate is used: give an https:// "
        + "address, or --tls none"
    default: nil
    }
  }
}
