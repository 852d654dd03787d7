private import COpenSSL

/// Comparison of secrets. Its duration tells nothing of where two secrets differ; it does tell
/// whether their lengths do, which is no secret here.
package enum ConstantTime {
  package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }
}
