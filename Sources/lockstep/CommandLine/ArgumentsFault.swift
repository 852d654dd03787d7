/// Fault in a command line.
package struct ArgumentsFault: Error, Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// A group's name without a subcommand.
    case subcommandMissing([String])
    case subcommandUnknown(String, nearest: String?)
    case optionBeforeSubcommand(String)
    case optionUnknown(String, nearest: String?)
    case valueMissing(String, placeholder: String)
    /// `source`: the option, or the environment variable that it came from.
    case valueBad(source: String, reason: String)
    case optionMissing(String, placeholder: String, environmentName: String)
    case operandMissing(String)
    case operandSurplus(String)
    /// The config file cannot be read; the reason in words.
    case fileUnreadable(String)
    /// All faults in that file.
    case fileBad(String, [ConfigFile.Fault])
  }

  /// Words that lead to the command, the program's name first.
  package let path: [String]
  package let reason: Reason

  package var commandName: String { path.joined(separator: " ") }

  /// One sentence and the next step; for a file, one line per fault.
  package var explanation: String {
    "\(sentence)\(sentence.hasSuffix("?") ? "" : ";") `\(commandName) --help` tells all"
  }

  private var sentence: String {
    switch reason {
    case .subcommandMissing(let names): "say what to do: \(names.joined(separator: ", "))"
    case .subcommandUnknown(let word, let nearest):
      "there is no command \"\(word)\"" + hint(nearest)
    case .optionBeforeSubcommand(let word): "\(word) must stand behind the command it is for"
    case .optionUnknown(let word, let nearest):
      "there is no option \(word)" + hint(nearest.map { "--\($0)" })
    case .valueMissing(let name, let placeholder):
      "--\(name) needs a value: --\(name) \(placeholder)"
    case .valueBad(let source, let reason): "\(source): \(reason)"
    case .optionMissing(let name, let placeholder, let environmentName):
      "--\(name) \(placeholder) is missing (or \(environmentName) in the environment)"
    case .operandMissing(let placeholder): "\(placeholder) is missing"
    case .operandSurplus(let word): "\"\(word)\" is one word too many"
    case .fileUnreadable(let words): "--config: \(words)"
    case .fileBad(let name, let faults):
      faults.map { fault in
        (fault.line > 0 ? "\(name):\(fault.line): " : "\(name): ") + fault.reason
      }.joined(separator: "\n") + "\nnothing was done"
    }
  }

  private func hint(_ nearest: String?) -> String {
    nearest.map { "; did you mean \($0)?" } ?? ""
  }
}

/// Suggestion of a word that a person may have meant.
package enum Suggestion {
  /// Returns the candidate with the fewest typing errors (a letter wrong, missing, added, or two
  /// exchanged), or nil if they are more than a third of its length and more than one. Returns the
  /// first of several.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    var best: (candidate: String, slips: Int)?
    for candidate in candidates {
      let slips = slips(from: Array(word), to: Array(candidate))
      guard slips <= max(1, candidate.count / 3), slips < best?.slips ?? .max else { continue }
      best = (candidate, slips)
    }
    return best?.candidate
  }

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
