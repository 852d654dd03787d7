import LockstepCrypto

/// Certificates in a PEM file (RFC 7468).
package enum PEMCertificates {
  /// Returns the certificates as DER; nil if there is none, or if one is not valid Base64.
  package static func decode(_ file: [UInt8]) -> [[UInt8]]? {
    var certificates: [[UInt8]] = []
    var digits: String?
    for line in file.split(whereSeparator: { $0 == UInt8(ascii: "\n") }) {
      let text = String(decoding: line.filter { $0 >= 0x20 }, as: UTF8.self)
      switch (text, digits) {
      case ("-----BEGIN CERTIFICATE-----", _): digits = ""
      case ("-----END CERTIFICATE-----", let found?):
        guard let certificate = Base64.decode(found), !certificate.isEmpty else { return nil }
        certificates.append(certificate)
        digits = nil
      case (_, let found?): digits = found + text
      case (_, nil): break
      }
    }
    return certificates.isEmpty || digits != nil ? nil : certificates
  }
}
