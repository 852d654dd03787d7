/// Command that repeats a run, as a person would type it.
public enum RunCommandLine {
  /// `name`: the words of the command. `options`: in order, without dashes; a nil value marks a
  /// flag. The part before the @ of an address is omitted: it may be a password.
  public static func text(_ name: String, options: [(name: String, value: String?)]) -> String {
    ([name]
      + options.map { option in
        "--\(option.name)" + (option.value.map { " " + quoted(withoutUser($0)) } ?? "")
      }).joined(separator: " ")
  }

  private static func withoutUser(_ value: String) -> String {
    guard let scheme = value.firstRange(of: "://"),
      let end = value[scheme.upperBound...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
    else { return value }
    return value[..<scheme.upperBound] + "…" + value[end...]
  }

  /// Quotes the word for a shell if it contains special characters.
  private static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: "-_./:,@%+=".utf8.contains(byte)
      }
    }
    if isPlain && !word.isEmpty { return word }
    return "'"
      + word.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
  }
}
