import LockstepCrypto
import LockstepJSON

/// Signed requests to an authority (JWS, RFC 7515, with ES256; RFC 8555 section 6.2).
package enum JWS {
  /// Name of the signing key in a request.
  package enum Signer: Sendable {
    /// The public key itself: for a new account.
    case key
    /// URL of the account.
    case account(String)
  }

  /// Returns the flattened JSON serialization. `payload`: empty for a request that only reads
  /// (POST-as-GET).
  package static func sign(
    _ payload: [UInt8], url: String, nonce: String, key: P256PrivateKey, as signer: Signer
  ) -> [UInt8] {
    var header = JSONWriter(capacity: 512)
    header.beginObject()
    header.member("alg")
    header.string("ES256")
    switch signer {
    case .key:
      header.member("jwk")
      header.raw(jwk(of: key.publicKey))
    case .account(let url):
      header.member("kid")
      header.string(url)
    }
    header.member("nonce")
    header.string(nonce)
    header.member("url")
    header.string(url)
    header.endObject()
    let protected = Base64.encodeURL(header.finish())
    let content = Base64.encodeURL(payload)
    let signature = key.signature(of: Array("\(protected).\(content)".utf8))
    var writer = JSONWriter(capacity: protected.utf8.count + content.utf8.count + 192)
    writer.beginObject()
    writer.member("protected")
    writer.string(protected)
    writer.member("payload")
    writer.string(content)
    writer.member("signature")
    writer.string(Base64.encodeURL(signature))
    writer.endObject()
    return writer.finish()
  }

  /// Returns the public key as JSON (RFC 7517), its members in the order of their names and without
  /// spaces: the form of which a thumbprint is made.
  package static func jwk(of key: P256PublicKey) -> [UInt8] {
    let x = Base64.encodeURL(Array(key.bytes[1..<33]))
    let y = Base64.encodeURL(Array(key.bytes[33..<65]))
    return Array(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#.utf8)
  }

  /// Thumbprint of a public key (RFC 7638).
  package static func thumbprint(of key: P256PublicKey) -> String {
    thumbprint(ofJWK: jwk(of: key))
  }

  package static func thumbprint(ofJWK json: [UInt8]) -> String {
    Base64.encodeURL(SHA256.hash(json))
  }
}
