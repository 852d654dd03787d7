/// Certificate of a server and its key, in two files. They can be reloaded while connections are
/// open; those keep the certificate that they started with.
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

  /// Reloads the files. Safe to call from any thread. Later handshakes use the new content; if it
  /// cannot be used, they continue with the old one.
  public func reload() throws(CertificateFault) {
    let fresh = try SecureContext.server(certificate: certificate, key: key)
    context.withLock { $0 = fresh }
  }

  public var validity: CertificateValidity { current.validity }

  /// Names that the certificate was issued for, verbatim, including wildcards such as
  /// `*.example.org`.
  public var names: [String] { current.names }

  var current: SecureContext { context.withLock { $0 } }
}

/// Validity of a certificate at the current time.
public enum CertificateValidity: Hashable, Sendable {
  case valid
  case expired
  case notYetValid
}
