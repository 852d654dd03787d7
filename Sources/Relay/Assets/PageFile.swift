import LockstepCrypto
import LockstepModel

/// A file that a browser may load from the relay.
public struct PageFile: Sendable, Hashable {
  /// Path from the root, without the leading slash: `client/limits.js`.
  public let path: String
  public let bytes: [UInt8]

  public init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
  }

  /// Entity tag (RFC 9110 section 8.8.3); equal bytes have equal tags. Computed on access, so that
  /// a relay's start does not wait for it.
  var tag: String { "\"\((ChunkHash(bytes: SHA256.hash(bytes))?.text ?? "").prefix(24))\"" }

  /// Media type, derived from the file name's extension.
  var mediaType: String {
    switch path.split(separator: ".").last {
    case "html": "text/html; charset=utf-8"
    case "js": "text/javascript; charset=utf-8"
    case "css": "text/css; charset=utf-8"
    case "svg": "image/svg+xml"
    case "png": "image/png"
    case "webmanifest": "application/manifest+json"
    default: "application/octet-stream"
    }
  }
}

extension Answer {
  /// Content security policy: a page loads nothing from other origins, sends nothing to them, and
  /// no other page may frame it.
  private static let policy = [
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:",
    "connect-src 'self'", "manifest-src 'self'", "worker-src 'self'", "base-uri 'none'",
    "form-action 'none'", "frame-ancestors 'none'",
  ].joined(separator: "; ")

  /// `ifNoneMatch`: the entity tags that the browser already has.
  init(page: PageFile, ifNoneMatch: [String]) {
    let tag = page.tag
    let isHeld = Answer.isHeld(tag, by: ifNoneMatch)
    self.init(status: isHeld ? 304 : 200)
    headers.append("ETag", tag)
    // A newer program has newer pages, so browsers must revalidate.
    headers.append("Cache-Control", "no-cache")
    headers.append("Content-Security-Policy", Answer.policy)
    if isHeld { return }
    headers.append("Content-Type", page.mediaType)
    headers.append("X-Content-Type-Options", "nosniff")
    headers.append("Referrer-Policy", "no-referrer")
    body = page.bytes
  }
}
