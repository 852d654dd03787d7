import Glibc
import LockstepModel

/// Settings of a command in a file:
///
/// ```
/// # a comment
/// listen = 0.0.0.0:5625
/// store = "/srv/lock step"      # quoted, with \" and \\
///
/// [limits]
/// connections = 2000
/// ```
///
/// A key is the name of an option without its dashes. The lines of a section are joined into the
/// option of its name, which takes a list of `NAME=VALUE`.
package struct ConfigFile: Sendable {
  /// Value of one option, and its line (from 1); for a section, the first line.
  package struct Entry: Hashable, Sendable {
    package var text: String
    package var line: Int
  }

  /// Fault in a line; line 0 means the file as a whole.
  package struct Fault: Error, Hashable, Sendable {
    package var line: Int
    package var reason: String
  }

  /// Entries by the name of the option.
  package private(set) var entries: [String: Entry] = [:]
  /// All faults, by line.
  package private(set) var faults: [Fault] = []

  /// Options that a file cannot set: they name the file or select what is done with it.
  package static let commandLineOnly: Set<String> = ["config", "check", "json"]

  /// Option that makes a command read settings from a file too.
  package static let option = CommandOption.optional(
    "config", ValueKind.file,
    "A file of settings, a line each: key = value. What stands here or in the environment goes "
      + "before it.")

  /// Mark that editors of other systems write at the beginning of a file. It means nothing.
  static let byteOrderMark: Unicode.Scalar = "\u{FEFF}"

  private let options: [CommandOptionEntry]
  /// Option of the section being parsed.
  private var section: CommandOptionEntry?
  /// Line of the first occurrence of each key; in a section, of `SECTION.KEY`.
  private var lines: [String: Int] = [:]

  /// `options`: options of the command.
  package init(_ bytes: [UInt8], options: [CommandOptionEntry]) {
    self.options = options.filter { !ConfigFile.commandLineOnly.contains($0.name) }
    guard bytes.count <= Limits.configBytes else {
      faults.append(Fault(line: 0, reason: "it has over \(Limits.configBytes >> 10) KiB"))
      return
    }
    let hasMark = bytes.starts(with: String(ConfigFile.byteOrderMark).utf8)
    let rows = bytes.dropFirst(hasMark ? 3 : 0)
      .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, row) in rows.enumerated() {
      do throws(ValueFault) {
        try parseLine(row, line: index + 1)
      } catch {
        faults.append(Fault(line: index + 1, reason: error.reason))
      }
    }
  }

  private mutating func parseLine(_ bytes: ArraySlice<UInt8>, line: Int) throws(ValueFault) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ValueFault("it is not UTF-8 text")
    }
    guard !bytes.contains(0) else { throw ValueFault("it holds a zero byte") }
    let row = ConfigFile.trimmed(text[...])
    if row.isEmpty || row.hasPrefix("#") { return }
    if row.hasPrefix("[") {
      section = try parseSection(row)
      return
    }
    guard let equals = row.firstIndex(of: "=") else {
      throw ValueFault("\"\(Log.oneLine(String(row)))\" is not of the form key = value")
    }
    let key = String(ConfigFile.trimmed(row[..<equals]))
    let value = try ConfigFile.parseValue(ConfigFile.trimmed(row[row.index(after: equals)...]))
    if let section {
      try appendSetting(key, value, to: section, line)
    } else {
      try setOption(key, value, line)
    }
  }

  private mutating func setOption(_ key: String, _ value: String, _ line: Int) throws(ValueFault) {
    guard let option = options.first(where: { $0.name == key }) else {
      throw ValueFault(unknownNameText("setting", key, among: options.map(\.name)))
    }
    try recordLine(of: key, named: key, line)
    try ConfigFile.check(value, of: option, named: key)
    entries[key] = Entry(text: value, line: line)
  }

  /// Adds a line of a section to the option's list.
  private mutating func appendSetting(
    _ key: String, _ value: String, to section: CommandOptionEntry, _ line: Int
  ) throws(ValueFault) {
    try recordLine(of: "\(section.name).\(key)", named: key, line)
    let pair = "\(key)=\(value)"
    try ConfigFile.check(pair, of: section, named: section.name)
    if let before = entries[section.name] {
      entries[section.name] = Entry(text: "\(before.text),\(pair)", line: before.line)
    } else {
      entries[section.name] = Entry(text: pair, line: line)
    }
  }

  private func parseSection(_ row: Substring) throws(ValueFault) -> CommandOptionEntry {
    let name = String(ConfigFile.trimmed(row.dropFirst().prefix { $0 != "]" }))
    let lists = options.filter(\.isList)
    guard row.hasSuffix("]"), let option = lists.first(where: { $0.name == name }) else {
      throw ValueFault(unknownNameText("section", name, among: lists.map(\.name)))
    }
    return option
  }

  private mutating func recordLine(
    of path: String, named key: String, _ line: Int
  ) throws(ValueFault) {
    if let first = lines[path] {
      throw ValueFault("\(Log.oneLine(key)) is set twice, in line \(first) too; keep one of them")
    }
    lines[path] = line
  }

  private func unknownNameText(_ noun: String, _ word: String, among names: [String]) -> String {
    let nearest = Suggestion.nearest(to: word, among: names)
    return "there is no \(noun) \"\(Log.oneLine(word))\""
      + (nearest.map { "; did you mean \($0)?" } ?? "")
  }

  private static func check(
    _ text: String, of option: CommandOptionEntry, named name: String
  ) throws(ValueFault) {
    do throws(ValueFault) {
      try option.check(text)
    } catch {
      throw ValueFault("\(name): \(error.reason)")
    }
  }

  // MARK: values

  /// Returns the value without its quotes, or up to a comment.
  private static func parseValue(_ text: Substring) throws(ValueFault) -> String {
    guard text.first == "\"" else {
      let plain = trimmed(text.prefix(upTo: comment(in: text)))
      guard !plain.isEmpty else {
        throw ValueFault("it has no value; put # in front of the line for the usual one")
      }
      return String(plain)
    }
    var value = ""
    var rest = text.dropFirst()
    while let letter = rest.popFirst() {
      switch letter {
      case "\"":
        let behind = trimmed(rest)
        guard behind.isEmpty || behind.hasPrefix("#") else {
          throw ValueFault("something stands behind the closing quote")
        }
        return value
      case "\\":
        guard let escaped = rest.popFirst(), escaped == "\"" || escaped == "\\" else {
          throw ValueFault("within quotes, \\ stands before \" or \\ only")
        }
        value.append(escaped)
      default: value.append(letter)
      }
    }
    throw ValueFault("the closing quote is missing")
  }

  /// Returns the start of the comment: a # at the beginning or after white space.
  private static func comment(in text: Substring) -> Substring.Index {
    var isBehindSpace = true
    for index in text.indices {
      if text[index] == "#", isBehindSpace { return index }
      isBehindSpace = text[index] == " " || text[index] == "\t"
    }
    return text.endIndex
  }

  private static func trimmed(_ text: Substring) -> Substring {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
    var rest = text.drop(while: isSpace)
    while let last = rest.last, isSpace(last) { rest = rest.dropLast() }
    return rest
  }
}

extension CommandOptionEntry {
  /// True if the option takes `NAME=VALUE,NAME=VALUE…`, which a file may give as a section.
  var isList: Bool { placeholder?.hasPrefix("NAME=VALUE") ?? false }

  /// Returns `text`, and those pairs of `lower` whose names are not in `text`.
  package static func merged(_ text: String, over lower: String) -> String {
    let pairs = text.split(separator: ",")
    let names = Set(pairs.map { $0.prefix { $0 != "=" } })
    let rest = lower.split(separator: ",").filter { !names.contains($0.prefix { $0 != "=" }) }
    return (rest + pairs).joined(separator: ",")
  }
}

extension ConfigFile {
  /// Returns the bytes of a file. Stops reading once they exceed the limit.
  package static func bytes(of path: String) throws(CommandFailure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw PlainFile.failure(path, "be read", errno) }
    let file = PlainFile(path: path, descriptor: descriptor)
    var bytes: [UInt8] = []
    while bytes.count <= Limits.configBytes {
      let block = try file.read(64 << 10)
      if block.isEmpty { break }
      bytes += block
    }
    return bytes
  }
}
