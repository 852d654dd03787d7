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

/// Authorities that a client trusts for a server's certificate.
public struct Trust: Sendable {
  /// Certificates as PEM; nil: the system's.
  let authorities: [UInt8]?

  /// Authorities that the system trusts.
  public static let system = Trust(checked: nil)

  /// Trusts only these authorities. `pem`: one or more certificates; throws if there are none.
  public init(authorities pem: [UInt8]) throws(CertificateFault) {
    _ = try SecureContext.client(authorities: pem)
    self.init(checked: pem)
  }

  private init(checked authorities: [UInt8]?) { self.authorities = authorities }
}

/// Error of a certificate that cannot be used. Each case says what a person does next.
public enum CertificateFault: Error, Hashable, Sendable, CustomStringConvertible {
  case unreadable(String, SystemFault)
  case noCertificate(String)
  /// The certificate was rejected, with OpenSSL's text: the key is too short, for example.
  case notTaken(String, String)
  case noKey(String)
  case otherKey(certificate: String, key: String)
  /// The authorities' file or text contains no certificate.
  case noAuthority
  /// OpenSSL itself fails.
  case library(String)

  public var description: String {
    switch self {
    case .unreadable(let path, let fault):
      "\(path) cannot be read (\(fault.text)); check the path, and who may read the file"
    case .noCertificate(let path):
      "\(path) holds no certificate in PEM form (-----BEGIN CERTIFICATE-----); name the file with "
        + "the certificate and its chain"
    case .notTaken(let path, let words):
      "the certificate in \(path) cannot be used (\(words)); have a new one made"
    case .noKey(let path):
      "\(path) holds no private key in PEM form, or one that is locked by a passphrase; name a "
        + "file with the key alone"
    case .otherKey(let certificate, let key):
      "the key in \(key) is not that of the certificate in \(certificate); name two that belong "
        + "together"
    case .noAuthority:
      "it holds no certificate in PEM form (-----BEGIN CERTIFICATE-----); name the file of the "
        + "authority that signed the certificate"
    case .library(let words):
      "OpenSSL cannot be used (\(words)); install version 3"
    }
  }
}
