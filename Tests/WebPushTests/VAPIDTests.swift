import LockstepCrypto
import LockstepModel
import LockstepWebPush
import Testing

struct VAPIDTests {
  private static let origin = "https://push.example.net"
  private static let noon: Int64 = 1_772_366_400_000

  private let key = PushMessage.newKey(from: secrets(seed: 3))

  /// RFC 8292 section 2.4.
  private static let published =
    "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLC"
    + "JleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9G"
    + "Au_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, "
    + "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"

  @Test func thePublishedTokenIsChecked() throws {
    let end: Int64 = 1_453_523_768
    let token = try VAPIDToken(
      checking: Self.published, audience: Self.origin, at: (end - 3_600) * 1_000)
    #expect(
      token.claims
        == VAPIDClaims(audience: Self.origin, expires: end, subject: "mailto:push@example.com"))
    #expect(throws: VAPIDFault.expired) {
      try VAPIDToken(checking: Self.published, audience: Self.origin, at: end * 1_000)
    }
    #expect(throws: VAPIDFault.tooLong) {
      try VAPIDToken(
        checking: Self.published, audience: Self.origin, at: (end - 86_401) * 1_000)
    }
    #expect(throws: VAPIDFault.audience) {
      try VAPIDToken(
        checking: Self.published, audience: Self.origin + ":8443", at: (end - 3_600) * 1_000)
    }
  }

  @Test func aTokenHasThePublishedForm() throws {
    let claims = VAPIDClaims(
      audience: Self.origin, expires: 1_453_523_768, subject: "mailto:push@example.com")
    let field = claims.authorization(signedBy: key)
    let published = Self.published.split(separator: ".")
    let parts = field.split(separator: ".")
    #expect(parts[0] == published[0])
    #expect(parts[1] == published[1])
    #expect(field.hasSuffix(", k=" + Base64.encodeURL(key.publicKey.bytes)))
    let token = try VAPIDToken(
      checking: field, audience: Self.origin, at: 1_453_523_000_000)
    #expect(token.claims == claims)
    #expect(token.key == key.publicKey)
    #expect(claims.authorization(signedBy: key) == field)
  }

  @Test func everyChangeIsRefused() throws {
    let claims = VAPIDClaims(audience: Self.origin, expires: Self.noon / 1_000 + 60, subject: nil)
    let field = Array(claims.authorization(signedBy: key).utf8)
    _ = try VAPIDToken(
      checking: String(decoding: field, as: UTF8.self), audience: Self.origin, at: Self.noon)
    // The scheme has any case, and the space after the comma may be left out.
    for index in field.indices where index > 4 && !(index > 5 && field[index] == 0x20) {
      var broken = field
      // Another letter of the same kind, so that only the content differs.
      broken[index] = field[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      let text = String(decoding: broken, as: UTF8.self)
      #expect(throws: VAPIDFault.self, "\(text)") {
        try VAPIDToken(checking: text, audience: Self.origin, at: Self.noon)
      }
    }
    for count in field.indices {
      #expect(throws: VAPIDFault.self) {
        try VAPIDToken(
          checking: String(decoding: field.prefix(count), as: UTF8.self), audience: Self.origin,
          at: Self.noon)
      }
    }
  }

  @Test func parametersHaveAnyOrderAndCase() throws {
    let claims = VAPIDClaims(audience: Self.origin, expires: Self.noon / 1_000 + 60, subject: nil)
    let field = claims.authorization(signedBy: key)
    let comma = try #require(field.firstIndex(of: ","))
    let token = field[..<comma].dropFirst("vapid ".count)
    let key = field[comma...].dropFirst(2)
    for text in ["VAPID \(key),\(token)", "vapid   \(token) , x=1, \(key)"] {
      let checked = try VAPIDToken(checking: text, audience: Self.origin, at: Self.noon)
      #expect(checked.claims == claims)
      #expect(VAPIDToken.namedKey(in: text) == self.key.publicKey)
    }
    for text in [
      "vapid \(token)", "vapid \(key)", "vapid \(token), \(token), \(key)",
      "Bearer \(token), \(key)",
      "vapid \(token), \(key), \(key)", "\(token), \(key)", "", "vapid", "vapid ", "vapid t, k",
      "vapid \(token), \(key)" + String(repeating: " ", count: 4_096),
    ] {
      #expect(throws: VAPIDFault.malformed, "\(text)") {
        try VAPIDToken(checking: text, audience: Self.origin, at: Self.noon)
      }
      #expect(VAPIDToken.namedKey(in: text) == nil)
    }
  }

  /// Tokens whose signature is right.
  @Test(arguments: [
    (#"{"alg":"none"}"#, #"{"aud":"https://a.example","exp":1772366460}"#, VAPIDFault.algorithm),
    (#"{"alg":"HS256"}"#, #"{"aud":"https://a.example","exp":1772366460}"#, .algorithm),
    (#"{}"#, #"{"aud":"https://a.example","exp":1772366460}"#, .algorithm),
    (
      #"{"alg":"ES256","crit":["exp"]}"#, #"{"aud":"https://a.example","exp":1772366460}"#,
      .algorithm
    ),
    (#"["ES256"]"#, #"{"aud":"https://a.example","exp":1772366460}"#, .malformed),
    (#"{"alg":"ES256"}"#, #"[]"#, .malformed),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example"}"#, .malformed),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":"1772366460"}"#, .malformed),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":1e300}"#, .malformed),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":9007199254740991}"#, .malformed),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":-1}"#, .malformed),
    (#"{"alg":"ES256"}"#, #"{"exp":1772366460}"#, .audience),
    (#"{"alg":"ES256"}"#, #"{"aud":["https://b.example"],"exp":1772366460}"#, .audience),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example/","exp":1772366460}"#, .audience),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":1772366400}"#, .expired),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":1772452801}"#, .tooLong),
    (#"{"alg":"ES256"}"#, #"{"aud":["https://a.example"],"exp":1772452800}"#, nil),
    (#"{"alg":"ES256"}"#, #"{"aud":"https://a.example","exp":1772366401,"x":{}}"#, nil),
  ])
  func claimsAreChecked(header: String, claims: String, fault: VAPIDFault?) {
    let signed = [header, claims].map { Base64.encodeURL(Array($0.utf8)) }.joined(separator: ".")
    let signature = Base64.encodeURL(key.signature(of: Array(signed.utf8)))
    let field = "vapid t=\(signed).\(signature), k=\(Base64.encodeURL(key.publicKey.bytes))"
    var found: VAPIDFault?
    do throws(VAPIDFault) {
      _ = try VAPIDToken(checking: field, audience: "https://a.example", at: Self.noon)
    } catch {
      found = error
    }
    #expect(found == fault)
  }

  @Test func aTokenIsReusedForItsOriginUntilItsLastHour() throws {
    var tokens = try #require(VAPIDTokens(key: key, subject: "mailto:me@example.org"))
    let first = tokens.authorization(for: Self.origin, at: Self.noon)
    let checked = try VAPIDToken(checking: first, audience: Self.origin, at: Self.noon)
    #expect(checked.claims.expires == Self.noon / 1_000 + 12 * 3_600)
    #expect(checked.claims.subject == "mailto:me@example.org")
    let hour: Int64 = 3_600_000
    #expect(tokens.authorization(for: Self.origin, at: Self.noon + 11 * hour - 1) == first)
    let second = tokens.authorization(for: Self.origin, at: Self.noon + 11 * hour)
    #expect(second != first)
    #expect(tokens.authorization(for: Self.origin, at: Self.noon + 12 * hour) == second)
    // The clock was wrong.
    let third = tokens.authorization(for: Self.origin, at: Self.noon - 100 * hour)
    #expect(third != second)
    #expect(tokens.count == 1)
    #expect(tokens.authorization(for: "https://b.example", at: Self.noon - 100 * hour) != third)
    #expect(tokens.count == 2)
  }

  @Test func aForgottenTokenIsSignedAnew() throws {
    var tokens = try #require(VAPIDTokens(key: key, subject: nil))
    #expect(tokens.publicKey == key.publicKey)
    let first = tokens.authorization(for: Self.origin, at: Self.noon)
    let other = tokens.authorization(for: "https://b.example", at: Self.noon)
    tokens.forget(Self.origin)
    tokens.forget("https://c.example")
    #expect(tokens.count == 1)
    // Another time shows which tokens are new.
    #expect(tokens.authorization(for: Self.origin, at: Self.noon + 2_000) != first)
    #expect(tokens.authorization(for: "https://b.example", at: Self.noon + 2_000) == other)
    #expect(tokens.count == 2)
  }

  @Test func theOldestTokenMakesWayForAnotherOrigin() throws {
    var tokens = try #require(VAPIDTokens(key: key, subject: nil))
    for number in 0..<Limits.vapidOrigins {
      _ = tokens.authorization(for: "https://\(number).example", at: Self.noon)
    }
    #expect(tokens.count == Limits.vapidOrigins)
    // Another time shows which tokens are new.
    let second = tokens.authorization(for: "https://1.example", at: Self.noon + 2_000)
    _ = tokens.authorization(for: "https://new.example", at: Self.noon + 2_000)
    #expect(tokens.count == Limits.vapidOrigins)
    #expect(tokens.authorization(for: "https://1.example", at: Self.noon + 4_000) == second)
    let again = tokens.authorization(for: "https://0.example", at: Self.noon + 4_000)
    let token = try VAPIDToken(
      checking: again, audience: "https://0.example", at: Self.noon + 4_000)
    #expect(token.claims.expires == Self.noon / 1_000 + 4 + 12 * 3_600)
  }

  @Test func subjectsAreURLs() {
    for subject in ["mailto:a@example.org", "https://example.org/contact"] {
      #expect(VAPIDTokens(key: key, subject: subject) != nil)
    }
    for subject in [
      "", "a@example.org", "http://example.org", "mailto:a b@example.org", "mailto:ä@example.org",
      "mailto:a\n", "mailto:" + String(repeating: "a", count: 249),
    ] {
      #expect(VAPIDTokens(key: key, subject: subject) == nil)
    }
  }
}
