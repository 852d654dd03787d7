import Glibc
import LockstepClient
import LockstepCommandLine

/// Questions to a person at a terminal. Each shows its default, which an empty line takes. An
/// answer that cannot be used is explained, and asked for again.
struct SetupQuestions {
  private static let attemptsMax = 10

  /// Returns the parsed answer. `explanation`: lines before the question; may be empty.
  func ask<Value>(
    _ question: String, explanation: String = "", default usual: String?,
    _ parse: (String) throws(ValueFault) -> Value
  ) throws(CommandFailure) -> Value {
    if !explanation.isEmpty { TerminalOutput.writeToStandardError("\n\(explanation)\n") }
    for _ in 0..<Self.attemptsMax {
      let shown = usual.map { $0.isEmpty ? " [none]" : " [\($0)]" } ?? ""
      TerminalOutput.writeToStandardError("\(question)\(shown): ")
      guard let line = readLine() else {
        throw CommandFailure("nothing was set up: the answers ended; give the command again")
      }
      let answer = Self.trimmed(line)
      guard !answer.isEmpty || usual != nil else { continue }
      do throws(ValueFault) {
        return try parse(answer.isEmpty ? usual ?? "" : answer)
      } catch {
        TerminalOutput.writeToStandardError("  \(TerminalOutput.escaped(error.reason))\n")
      }
    }
    throw CommandFailure("nothing was set up: no answer could be used; give the command again")
  }

  func confirm(
    _ question: String, explanation: String = "", default usual: Bool
  ) throws(CommandFailure) -> Bool {
    try ask(question, explanation: explanation, default: usual ? "yes" : "no") {
      text throws(ValueFault) in
      switch text.lowercased() {
      case "yes", "y": return true
      case "no", "n": return false
      default: throw ValueFault("type yes or no")
      }
    }
  }

  private static func trimmed(_ line: String) -> String {
    var rest = line[...].drop(while: \.isWhitespace)
    while rest.last?.isWhitespace ?? false { rest = rest.dropLast() }
    return String(rest)
  }
}
