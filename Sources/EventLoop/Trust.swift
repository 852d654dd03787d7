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
