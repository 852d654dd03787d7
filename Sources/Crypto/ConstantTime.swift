/// Comparison of secrets. Its duration does not depend on the position of a difference. It does
/// show if the lengths differ, which is no secret here.
package enum ConstantTime {
  /// The loop has no branch that depends on the bytes. It is not inlined, so that the compiler
  /// cannot use what a caller knows of them.
  @inline(never)
  package static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
  }
}
