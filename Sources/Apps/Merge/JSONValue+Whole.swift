import LockstepModel

extension JSONValue {
  /// The number rounded down and kept within ±2⁶⁰, so that sums and differences of a few of them
  /// cannot overflow; nil for what is no number.
  ///
  /// Versions come from other people's programs as well, which may write 1.5e3 or 0.5.
  package var wholeNumber: Int64? {
    let bound: Int64 = 1 << 60
    if let exact = int64 { return min(max(exact, -bound), bound) }
    guard let text = number?.text, let value = Double(text) else { return nil }
    let bounded = min(max(value, -Double(bound)), Double(bound))
    // `rounded` would need the C library's mathematics, which nothing else here does.
    let towardsZero = Int64(bounded)
    return Double(towardsZero) > bounded ? towardsZero - 1 : towardsZero
  }
}
