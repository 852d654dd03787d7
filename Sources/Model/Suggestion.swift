/// Suggestion of a word that a person may have meant.
package enum Suggestion {
  /// Returns the candidate with the fewest typing errors, or nil if all have too many. Of several,
  /// returns the first that begins with the word, otherwise the first.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    var best: (candidate: String, slips: Int)?
    for candidate in candidates {
      guard let slips = slips(from: word, to: candidate) else { continue }
      let isLonger = !word.isEmpty && candidate.hasPrefix(word)
      let isBetter =
        best.map { best in
          slips < best.slips
            || slips == best.slips && isLonger && !best.candidate.hasPrefix(word)
        } ?? true
      if isBetter { best = (candidate, slips) }
    }
    return best?.candidate
  }

  /// Returns the number of typing errors: a letter wrong, missing, added, or two exchanged. Returns
  /// nil if they are more than a third of the candidate's length and more than one.
  package static func slips(from word: String, to candidate: String) -> Int? {
    guard word.utf8.count <= wordBytes else { return nil }
    let (word, candidate) = (Array(word), Array(candidate))
    let most = max(1, candidate.count / 3)
    // Each letter too many or too few is an error by itself.
    guard abs(word.count - candidate.count) <= most else { return nil }
    let slips = slips(from: word, to: candidate)
    return slips <= most ? slips : nil
  }

  /// Bytes of the longest word that is compared: the cost grows with its length, and the word may
  /// come from anybody.
  private static let wordBytes = 256

  /// Returns the optimal string alignment distance.
  private static func slips(from word: [Character], to other: [Character]) -> Int {
    var rows = [Array(0...other.count)]
    for (row, letter) in word.enumerated() {
      var next = [row + 1]
      for (column, otherLetter) in other.enumerated() {
        var least = min(next[column], rows[row][column + 1]) + 1
        least = min(least, rows[row][column] + (letter == otherLetter ? 0 : 1))
        if row > 0, column > 0, letter == other[column - 1], word[row - 1] == otherLetter {
          least = min(least, rows[row - 1][column - 1] + 1)
        }
        next.append(least)
      }
      rows.append(next)
    }
    return rows[word.count][other.count]
  }
}
