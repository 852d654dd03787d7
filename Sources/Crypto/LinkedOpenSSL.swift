private import COpenSSL

/// OpenSSL library that the program runs with. A release links it statically, so only the program
/// itself can report the version.
package enum LinkedOpenSSL {
  /// `3.0.17`.
  package static var version: String { String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }
}
