import LockstepACME
import LockstepCrypto
import LockstepJSON
import Testing

struct JWSTests {
  /// RFC 7515 appendix A.3.1: a key on P-256.
  private static let scalar = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"

  private func key() throws -> P256PrivateKey {
    let scalar = try #require(Base64.decodeURL(JWSTests.scalar))
    return try #require(P256PrivateKey(scalar))
  }

  @Test func publicKeyIsTheOneOfRFC7515() throws {
    let jwk = String(decoding: JWS.jwk(of: try key().publicKey), as: UTF8.self)
    #expect(
      jwk == #"{"crv":"P-256","kty":"EC","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","#
        + #""y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}"#)
    // Computed with Python's json, hashlib and base64 from the members above.
    #expect(
      JWS.thumbprint(of: try key().publicKey) == "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U")
  }

  /// RFC 7638 section 3.1 has a thumbprint of an RSA key only; the hash of its members is the same
  /// function.
  @Test func thumbprintIsTheOneOfRFC7638() {
    let modulus =
      "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_"
      + "BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_"
      + "FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI"
      + "4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
    let json = #"{"e":"AQAB","kty":"RSA","n":"\#(modulus)"}"#
    #expect(
      JWS.thumbprint(ofJWK: Array(json.utf8)) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
  }

  @Test func requestIsSignedAndNamesItsKeyOnce() throws {
    let key = try key()
    for (signer, member) in [(JWS.Signer.key, "jwk"), (.account("https://ca.test/a/1"), "kid")] {
      let bytes = JWS.sign(
        Array("{}".utf8), url: "https://ca.test/order", nonce: "abc", key: key, as: signer)
      let outer = try JSONValue(parsing: bytes)
      let protected = try #require(outer["protected"]?.string)
      let payload = try #require(outer["payload"]?.string)
      let signature = try #require(outer["signature"]?.string.flatMap { Base64.decodeURL($0) })
      #expect(key.publicKey.verifies(signature, of: Array("\(protected).\(payload)".utf8)))
      let text = try #require(Base64.decodeURL(protected))
      let header = try JSONValue(parsing: text)
      #expect(
        header.members?.map(\.name) == ["alg", member, "nonce", "url"] && payload == "e30")
      #expect(header["url"]?.string == "https://ca.test/order" && header["alg"]?.string == "ES256")
    }
  }

  @Test func readingRequestHasAnEmptyPayload() throws {
    let bytes = JWS.sign([], url: "https://a.test/", nonce: "n", key: try key(), as: .key)
    #expect(try JSONValue(parsing: bytes)["payload"]?.string == "")
  }
}
