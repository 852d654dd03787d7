import LockstepCrypto
import LockstepJSON
import LockstepModel

/// Identification of a relay to push services (VAPID, RFC 8292): a signed token in the request's
/// field `Authorization`.
///
///     vapid t=<header>.<claims>.<signature>, k=<public key>
package struct VAPIDClaims: Hashable, Sendable {
  /// Origin of the push service.
  package var audience: String
  /// End of the validity, in seconds since the Unix epoch.
  package var expires: Int64
  /// A `mailto:` or `https:` URL by which a service reaches the relay's owner.
  package var subject: String?

  package init(audience: String, expires: Int64, subject: String?) {
    self.audience = audience
    self.expires = expires
    self.subject = subject
  }

  /// Returns the value of `Authorization`.
  package func authorization(signedBy key: P256PrivateKey) -> String {
    let header = Base64.encodeURL(Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8))
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writer.member("aud")
    writer.string(audience)
    writer.member("exp")
    writer.integer(expires)
    if let subject {
      writer.member("sub")
      writer.string(subject)
    }
    writer.endObject()
    let signed = header + "." + Base64.encodeURL(writer.finish())
    let signature = Base64.encodeURL(key.signature(of: Array(signed.utf8)))
    return "vapid t=\(signed).\(signature), k=\(Base64.encodeURL(key.publicKey.bytes))"
  }
}

/// A token that a push service has checked.
package struct VAPIDToken: Hashable, Sendable {
  package let claims: VAPIDClaims
  package let key: P256PublicKey

  /// Checks a value of `Authorization` as a push service does. `audience`: the service's origin.
  /// `wall`: milliseconds since the Unix epoch.
  package init(
    checking authorization: String, audience: String, at wall: Int64
  ) throws(VAPIDFault) {
    guard let (signed, key) = VAPIDToken.parameters(of: authorization) else { throw .malformed }
    let parts = signed.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = VAPIDToken.object(parts[0]),
      let body = VAPIDToken.object(parts[1]), let signature = Base64.decodeURL(parts[2])
    else { throw .malformed }
    guard header["alg"]?.string == "ES256", header["crit"] == nil else { throw .algorithm }
    guard key.verifies(signature, of: Array("\(parts[0]).\(parts[1])".utf8)) else {
      throw .signature
    }
    let audiences = body["aud"]?.array?.map(\.string) ?? [body["aud"]?.string]
    guard audiences.contains(audience) else { throw .audience }
    // A time in seconds stays below 2⁴⁰ for 34,000 years.
    guard let expires = body["exp"]?.int64, (0..<1 << 40).contains(expires) else {
      throw .malformed
    }
    let wall = max(wall, 0)
    guard expires * 1_000 > wall else { throw .expired }
    guard expires * 1_000 - wall <= Limits.vapidMostSeconds * 1_000 else { throw .tooLong }
    claims = VAPIDClaims(
      audience: audience, expires: expires, subject: body["sub"]?.string)
    self.key = key
  }

  /// Returns the key that a value of `Authorization` names, before its signature is checked; nil if
  /// the field does not have its form.
  package static func namedKey(in authorization: String) -> P256PublicKey? {
    parameters(of: authorization)?.key
  }

  /// Returns nil unless there is one `t` and one `k`, a key. Other parameters are ignored (RFC 9110
  /// section 11.2).
  private static func parameters(of text: String) -> (token: Substring, key: P256PublicKey)? {
    guard text.utf8.count <= Limits.vapidFieldBytes, let space = text.firstIndex(of: " "),
      text[..<space].lowercased() == "vapid"
    else { return nil }
    var token: Substring?
    var key: Substring?
    for item in text[space...].split(separator: ",") {
      let item = item.drop { $0 == " " }
      guard let equals = item.firstIndex(of: "=") else { return nil }
      let value = item[item.index(after: equals)...].prefix { $0 != " " }
      switch item[..<equals].lowercased() {
      case "t" where token == nil: token = value
      case "k" where key == nil: key = value
      case "t", "k": return nil
      default: continue
      }
    }
    guard let token, let key = key.flatMap({ Base64.decodeURL($0) }).flatMap({ P256PublicKey($0) })
    else { return nil }
    return (token, key)
  }

  private static func object(_ part: Substring) -> JSONValue? {
    guard let bytes = Base64.decodeURL(part), let value = JSONValue(ifJSON: bytes),
      value.members != nil
    else { return nil }
    return value
  }
}

/// Reason for which a push service refuses a token.
package enum VAPIDFault: Error, Hashable {
  /// The field, the token or the key does not have its form.
  case malformed
  /// The token is not signed by ES256.
  case algorithm
  /// The signature is not one of the key.
  case signature
  /// The token is for another push service.
  case audience
  case expired
  /// The token is valid for more than 24 hours.
  case tooLong
}

/// Tokens of one key, one for each push service, so that most pushes need no signature.
package struct VAPIDTokens: Sendable {
  private struct Entry: Sendable {
    var authorization: String
    /// Milliseconds since the Unix epoch from which, and until which, it is used.
    var uses: Range<Int64>
  }

  private let key: P256PrivateKey
  private let subject: String?
  private var entries: [String: Entry] = [:]
  /// Origins in the order in which their tokens were signed.
  private var origins: [String] = []

  /// Returns nil if `subject` is not a `mailto:` or `https:` URL of at most
  /// `Limits.vapidSubjectBytes`: push services refuse others.
  package init?(key: P256PrivateKey, subject: String?) {
    guard VAPIDTokens.isValid(subject: subject) else { return nil }
    self.key = key
    self.subject = subject
  }

  package static func isValid(subject: String?) -> Bool {
    guard let subject else { return true }
    return (subject.hasPrefix("mailto:") || subject.hasPrefix("https://"))
      && subject.utf8.count <= Limits.vapidSubjectBytes
      && subject.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  package var publicKey: P256PublicKey { key.publicKey }

  /// Number of tokens that are kept, at most `Limits.vapidOrigins`.
  package var count: Int { origins.count }

  /// Returns the value of `Authorization` for a push service. `wall`: milliseconds since the Unix
  /// epoch; if the clock is set back, the token is replaced.
  package mutating func authorization(for origin: String, at wall: Int64) -> String {
    if let entry = entries[origin] {
      if entry.uses.contains(wall) { return entry.authorization }
      origins.removeAll { $0 == origin }
    } else if origins.count == Limits.vapidOrigins {
      entries[origins.removeFirst()] = nil
    }
    let claims = VAPIDClaims(
      audience: origin, expires: wall / 1_000 + Limits.vapidSeconds, subject: subject)
    let use = (Limits.vapidSeconds - Limits.vapidRestSeconds) * 1_000
    let entry = Entry(
      authorization: claims.authorization(signedBy: key), uses: wall..<wall + use)
    entries[origin] = entry
    origins.append(origin)
    return entry.authorization
  }

  /// Drops the token for a push service, which has refused it: the next one is signed anew.
  package mutating func forget(_ origin: String) {
    guard entries.removeValue(forKey: origin) != nil else { return }
    origins.removeAll { $0 == origin }
  }
}
