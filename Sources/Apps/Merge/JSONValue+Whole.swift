import LockstepModel

extension JSONValue {
  /// The number rounded down and limited to ±2⁶⁰, so that sums and differences of a few of them
  /// cannot overflow; nil if the value is not a number.
  ///
  /// Versions may come from third-party programs, which may write 1.5e3 or 0.5.
  package var wholeNumber: Int64? {
    let bound: Int64 = 1 << 60
    if let exact = int64 { return min(max(exact, -bound), bound) }
    guard let text = number?.text, let value = Double(text) else { return nil }
    let bounded = min(max(value, -Double(bound)), Double(bound))
    // `rounded` would need the C math library, which no other code here uses.
    let towardsZero = Int64(bounded)
    return Double(towardsZero) > bounded ? towardsZero - 1 : towardsZero
  }
}
