import Changes

/// What was written, each text unlike any other. A text may go only where somebody who saw it
/// replaced or removed it; every other must stand somewhere in the end.
struct WrittenTexts {
  private var standing: [String] = []

  /// Somebody saw `old` (nil: wrote something new) and made `new` of it (nil: removed it).
  mutating func replaced(_ old: String?, by new: String?) {
    if let old { standing.removeAll { $0 == old } }
    if let new { standing.append(new) }
  }

  /// Those that are nowhere in `found`.
  func lost(in found: [String]) -> [String] { standing.filter { !found.contains($0) } }
}

/// One press: what somebody saw, and what became of it.
struct Writing {
  var old: String?
  var new: String?
}
