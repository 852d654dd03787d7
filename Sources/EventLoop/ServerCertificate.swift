/// By what a server proves who it is: a certificate and its key, in two files. They can be read
/// anew while connections stand; those keep what they began with.
public final class ServerCertificate: Sendable {
  private let certificate: String
  private let key: String
  private let context: Locked<SecureContext>

  /// Paths of PEM files: the certificate with its chain, and the private key.
  public init(certificate: String, key: String) throws(CertificateFault) {
    self.certificate = certificate
    self.key = key
    context = Locked(try SecureContext.server(certificate: certificate, key: key))
  }

  /// From any thread. Handshakes from here on use what the files hold now; where that cannot be
  /// used, they go on with what there was.
  public func reload() throws(CertificateFault) {
    let fresh = try SecureContext.server(certificate: certificate, key: key)
    context.withLock { $0 = fresh }
  }

  public var validity: CertificateValidity { current.validity }

  /// The names that it was made for, as they stand in it: `*.example.org` among them.
  public var names: [String] { current.names }

  var current: SecureContext { context.withLock { $0 } }
}

/// Whether a certificate may be used now.
public enum CertificateValidity: Hashable, Sendable {
  case valid
  case expired
  case notYetValid
}
