/// Comparison of the labels of accounts: the owner's names for them, unique in a relay.
///
/// Two labels are the same if they differ only in case or in the spelling of a character (é is one
/// code point or two). An empty label is the same as none.
package enum AccountLabel {
  package static func areSame(_ one: String, _ other: String) -> Bool {
    !one.isEmpty && one.lowercased() == other.lowercased()
  }

  /// Maximum number of keys that one new account adds to rows of a store that lack them.
  package static let addedKeys = 1_000

  /// Text whose bytes decide: labels with keys are the same if and only if their keys are equal.
  ///
  /// Returns nil for a label that is only comparable by `areSame`: it is empty, or its characters
  /// are not in Unicode's normalization form C, which is rare. Changes of the Unicode tables
  /// between programs affect only letters that were new then.
  package static func key(_ label: String) -> String? {
    guard !label.isEmpty else { return nil }
    var folded = label.lowercased()
    if folded.utf8.allSatisfy({ $0 < 0x80 }) { return folded }
    folded.makeContiguousUTF8()
    if #available(macOS 26, iOS 26, *) {
      var bytes = folded.utf8Span
      return bytes.checkForNFC(quickCheck: false) ? folded : nil
    }
    return nil
  }
}
