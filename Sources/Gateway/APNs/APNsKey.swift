import LockstepCrypto

/// Key of an app's maker for APNs, from the file `AuthKey_….p8` that Apple gives: PKCS#8 (RFC 5958)
/// in PEM (RFC 7468), with an elliptic-curve key (RFC 5915) on P-256.
///
///     SEQUENCE
///       INTEGER                  version
///       SEQUENCE                 algorithm: OID ecPublicKey, OID prime256v1
///       OCTET STRING
///         SEQUENCE
///           INTEGER              1
///           OCTET STRING         the key, 32 bytes
///           …                    not read: the public key is computed
package enum APNsKey {
  private static let begin = "-----BEGIN PRIVATE KEY-----"
  private static let end = "-----END PRIVATE KEY-----"
  /// OID 1.2.840.10045.2.1, and OID 1.2.840.10045.3.1.7.
  private static let algorithm: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]
  private static let curve: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]

  /// Returns nil if the text is not such a key.
  package static func parse(_ text: String) -> P256PrivateKey? {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { !$0.isWhitespace } }
    let marks = [begin, end].map { $0.filter { $0 != " " } }
    guard let first = lines.firstIndex(of: marks[0]), let last = lines.firstIndex(of: marks[1]),
      first < last, let bytes = Base64.decode(lines[(first + 1)..<last].joined())
    else { return nil }
    var reader = DERReader(bytes[...])
    guard var key = reader.element(.sequence).map({ DERReader($0) }),
      key.element(.integer) != nil,
      var kind = key.element(.sequence).map({ DERReader($0) }),
      kind.element(.objectIdentifier).map(Array.init) == algorithm,
      kind.element(.objectIdentifier).map(Array.init) == curve,
      var outer = key.element(.octetString).map({ DERReader($0) }),
      var inner = outer.element(.sequence).map({ DERReader($0) }),
      inner.element(.integer).map(Array.init) == [1],
      let scalar = inner.element(.octetString)
    else { return nil }
    return P256PrivateKey(Array(scalar))
  }
}

/// Reader of elements in DER (X.690), with lengths below 65,536.
private struct DERReader {
  enum Tag: UInt8 {
    case integer = 0x02
    case octetString = 0x04
    case objectIdentifier = 0x06
    case sequence = 0x30
  }

  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Returns the content of the next element; nil if it has another tag or is not complete.
  mutating func element(_ tag: Tag) -> ArraySlice<UInt8>? {
    guard rest.popFirst() == tag.rawValue, var count = rest.popFirst().map({ Int($0) }) else {
      return nil
    }
    if count >= 0x80 {
      let digits = rest.prefix(count - 0x80)
      guard (1...2).contains(digits.count), digits.count == count - 0x80 else { return nil }
      rest = rest.dropFirst(digits.count)
      count = digits.reduce(0) { $0 << 8 | Int($1) }
    }
    guard count <= rest.count else { return nil }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }
}
