private import COpenSSL

/// Comparison of secrets. Its duration does not depend on the position of a difference. It does
/// show if the lengths differ, which is no secret here.
package enum ConstantTime {
  package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
  }
}
