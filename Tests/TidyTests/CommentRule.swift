/// A doc comment begins with a noun phrase or a verb, as the Swift API Design Guidelines require:
/// its first words say what the declaration is or does.
enum CommentRule {
  private static let questionWords: Set<String> = [
    "What", "How", "Who", "Whom", "Whose", "Whether", "Where", "When", "Which", "Why", "Whoever",
    "Whatever", "Nobody", "Somebody", "Everybody",
  ]

  static func faults(in file: SourceFile) -> [Fault] {
    var previousIsComment = false
    var faults: [Fault] = []
    let lines = file.content.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let text = line.drop { $0 == " " }
      let isComment = text.hasPrefix("///")
      defer { previousIsComment = isComment }
      guard isComment, !previousIsComment else { continue }
      let word = text.dropFirst(3).drop { $0 == " " }.prefix { $0.isLetter }
      if questionWords.contains(String(word)) {
        faults.append(
          Fault(
            path: file.path, line: index + 1,
            reason: "a doc comment begins with `\(word)`; begin with a noun phrase or a verb"))
      }
    }
    return faults
  }
}
