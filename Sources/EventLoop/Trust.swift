/// Whom a client believes when a server shows its certificate.
public struct Trust: Sendable {
  /// Certificates as PEM; nil: the system's.
  let authorities: [UInt8]?

  /// The authorities that the system trusts.
  public static let system = Trust(checked: nil)

  /// These authorities and nobody else. `pem`: one certificate or more; throws where there is none.
  public init(authorities pem: [UInt8]) throws(CertificateFault) {
    _ = try SecureContext.client(authorities: pem)
    self.init(checked: pem)
  }

  private init(checked authorities: [UInt8]?) { self.authorities = authorities }
}
