/// Time in digits of several rows, made of block characters.
package enum BigDigits {
  /// Rows of a digit at scale 1.
  package static let height = 5

  /// Shapes, three dots wide and five high; a colon is one wide.
  private static let shapes: [Character: [String]] = [
    "0": ["###", "# #", "# #", "# #", "###"], "1": [" # ", "## ", " # ", " # ", "###"],
    "2": ["###", "  #", "###", "#  ", "###"], "3": ["###", "  #", "###", "  #", "###"],
    "4": ["# #", "# #", "###", "  #", "  #"], "5": ["###", "#  ", "###", "  #", "###"],
    "6": ["###", "#  ", "###", "# #", "###"], "7": ["###", "  #", "  #", "  #", "  #"],
    "8": ["###", "# #", "###", "# #", "###"], "9": ["###", "# #", "###", "  #", "###"],
    ":": [" ", "#", " ", "#", " "],
  ]

  /// Returns the rows of `text`: digits and colons; others are left out. `dot`: columns per dot.
  /// `scale`: rows per dot.
  package static func rows(_ text: String, dot: Int, scale: Int) -> [String] {
    let letters = text.compactMap { shapes[$0] }
    return (0..<height).flatMap { row in
      let line = letters.map { shape in
        shape[row].map { String(repeating: $0 == "#" ? "█" : " ", count: dot) }.joined()
      }.joined(separator: String(repeating: " ", count: dot))
      return [String](repeating: line, count: scale)
    }
  }

  /// Returns the number of columns of a text. `dot`: columns per dot.
  package static func width(of text: String, dot: Int) -> Int {
    let dots = text.reduce(0) { $0 + (shapes[$1]?[0].count ?? 0) + 1 } - 1
    return max(0, dots) * dot
  }
}
