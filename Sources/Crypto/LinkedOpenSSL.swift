private import COpenSSL

/// The OpenSSL that the program runs with. A release has it linked in, so that only the program can
/// tell.
package enum LinkedOpenSSL {
  /// `3.0.17`.
  package static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
