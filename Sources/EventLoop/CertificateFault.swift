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
