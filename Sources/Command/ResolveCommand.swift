import Glibc
import LockstepApps
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepWire

/// `lockstep resolve`: reads one conflict per line and prints one answer per line, in the same
/// order.
enum ResolveCommand {
  static let command = Command(
    name: "resolve",
    summary: "Shows how conflicts end: cases in, answers out.",
    discussion: """
      Reads one case a line from standard input and prints one answer a line: what the record \
      becomes when two devices changed it and neither had seen the other's change.

      A case is {"type", "base", "local", "server"}; each of the three is a version {"name", \
      "fields", "modifiedAt", "device", "deleted"}. A delete has null fields. "base", the version \
      that the local change was made on, may be null. In the place of "type", the name of a record \
      type, a case may have "rules", the merge rules of one type: {"fields": {"done": "or"}, \
      "delete": "deleteWins"}. With --rules, types are those of the table in the file.

      An answer is {"outcome", "fields", "deleted", "copies"}. The outcome is "merged", or "ask" \
      where a person has to choose.

      A line that is no case gets an error with its number on standard error, and the exit code \
      is 1 at the end; the other lines are answered all the same. Empty lines are passed over.
      """,
    options: [RulesFile.option.entry],
    action: { arguments throws(CommandFailure) in
      try run(
        try arguments[RulesFile.option].map { path throws(CommandFailure) in
          try RulesFile.read(path)
        })
    })

  private static func run(_ table: RuleTable?) throws(CommandFailure) -> ExitCode {
    if isatty(STDIN_FILENO) == 1 {
      let prompt = localized("one case a line, then Ctrl-D")
      TerminalOutput.writeToStandardError("lockstep resolve: \(prompt)\n")
    }
    var session = ResolveSession(table: table)
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = try readInput(into: &buffer)
      if count == 0 { break }
      session.receive(buffer[..<count])
      try session.answerLines()
    }
    try session.answerRest()
    return session.sawBadLine ? .failure : .success
  }

  private static func readInput(into buffer: inout [UInt8]) throws(CommandFailure) -> Int {
    while true {
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count >= 0 { return count }
      if errno == EAGAIN {
        var wanted = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = poll(&wanted, 1, -1)
      } else if errno != EINTR {
        throw CommandFailure(
          localized(
            "cannot read the cases: {error}", ["error": String(cString: strerror(errno))]))
      }
    }
  }
}

/// One run: numbers the lines, and writes answers and errors in the order of the lines.
private struct ResolveSession {
  /// Rules of the types; nil: those of the apps.
  let table: RuleTable?
  private var lines = LineReader(bytesMax: Limits.resolveLineBytes)
  private var number = 0
  private var answers: [UInt8] = []
  private(set) var sawBadLine = false

  init(table: RuleTable?) { self.table = table }

  mutating func receive(_ bytes: ArraySlice<UInt8>) { lines.receive(bytes) }

  /// Answers all complete lines and flushes the answers, so that none waits for further input.
  mutating func answerLines() throws(CommandFailure) {
    while let line = lines.next() { try answer(line) }
    try flush()
  }

  mutating func answerRest() throws(CommandFailure) {
    if let line = lines.rest() { try answer(line) }
    try flush()
  }

  private mutating func answer(_ line: LineReader.Line) throws(CommandFailure) {
    number += 1
    switch line {
    case .tooLong:
      try complain(
        localized("longer than {count} bytes", ["count": String(Limits.resolveLineBytes)]))
    case .text(let bytes):
      // A line of white space (RFC 8259 section 2) contains no case.
      if bytes.allSatisfy({ [0x20, 0x09, 0x0D].contains($0) }) { return }
      do throws(ResolveCase.Fault) {
        answers += try ResolveCase.answer(to: bytes, table)
        answers.append(UInt8(ascii: "\n"))
      } catch {
        try complain(error.reason)
      }
    }
  }

  private mutating func complain(_ reason: String) throws(CommandFailure) {
    // Earlier answers must precede the error if both go to the same file.
    try flush()
    sawBadLine = true
    let note = localized(
      "line {number}: {reason}", ["number": String(number), "reason": reason])
    TerminalOutput.writeToStandardError("lockstep resolve: \(note)\n")
  }

  private mutating func flush() throws(CommandFailure) {
    guard !answers.isEmpty else { return }
    try TerminalOutput.standard.write(answers)
    answers.removeAll(keepingCapacity: true)
  }
}

/// A conflict as `lockstep resolve` reads it, and the answer as it prints it.
package enum ResolveCase {
  /// Reason why a line is not a valid conflict.
  package struct Fault: Error, Hashable, Sendable {
    package let reason: String
  }

  /// Returns the answer to one line: a JSON object without a line feed.
  ///
  /// - Parameter table: Rules of the types; nil: those of the apps.
  package static func answer(to line: [UInt8], _ table: RuleTable? = nil) throws(Fault) -> [UInt8] {
    let value = try parsed(line)
    guard value.members != nil else { throw Fault(reason: localized("a case is a JSON object")) }
    let resolver = try resolver(of: value, table)
    let conflict = Conflict(
      base: try base(of: value), local: try version("local", of: value),
      server: try version("server", of: value))
    return form(resolver.resolve(conflict)).serialized()
  }

  private static func resolver(of value: JSONValue, _ table: RuleTable?) throws(Fault)
    -> any Resolver
  {
    if let rules = value["rules"] {
      guard value["type"] == nil else {
        throw Fault(reason: localized("give either \"type\" or \"rules\", not both"))
      }
      do throws(RuleFault) {
        return RuleResolver(try MergeRules(rules, place: "\"rules\""))
      } catch {
        throw Fault(reason: error.reason)
      }
    }
    guard let type = value["type"] else {
      throw Fault(
        reason: value["case"] == nil
          ? localized("\"type\" is missing; give it, or \"rules\" in its place")
          : localized("give what stands under \"case\", not the whole vector"))
    }
    guard let name = type.string else {
      throw Fault(reason: localized("\"type\" is no string"))
    }
    let values = ["type": Log.oneLine(name)]
    if let table {
      guard let rules = Name(name).flatMap({ table.rules(for: $0) }) else {
        throw Fault(reason: localized("the rules have no record type \"{type}\"", values))
      }
      return RuleResolver(rules)
    }
    guard let resolver = AppCatalog.resolver(forType: name) else {
      throw Fault(reason: localized("no app here knows the record type \"{type}\"", values))
    }
    return resolver
  }

  private static func parsed(_ line: [UInt8]) throws(Fault) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: line)
    } catch {
      throw Fault(reason: "\(error)")
    }
  }

  private static func base(of value: JSONValue) throws(Fault) -> Version? {
    guard let base = value["base"], !base.isNull else { return nil }
    return try version("base", of: value)
  }

  private static func version(_ side: String, of value: JSONValue) throws(Fault) -> Version {
    guard let version = value[side], version.members != nil else {
      throw Fault(reason: localized("\"{side}\" is no version of a record", ["side": side]))
    }
    guard let name = version["name"]?.string else { throw notText("name", side) }
    guard let device = version["device"]?.string else { throw notText("device", side) }
    guard let modifiedAt = version["modifiedAt"]?.int64 else {
      throw Fault(
        reason: localized(
          "\"modifiedAt\" of \"{side}\" must be a whole number of milliseconds", ["side": side]))
    }
    let fields = try fields(of: version, side)
    return Version(name: name, fields: fields, modifiedAt: modifiedAt, device: device)
  }

  /// Returns nil for a delete: its fields are null, and `deleted`, if given, is true.
  private static func fields(of version: JSONValue, _ side: String) throws(Fault) -> JSONValue? {
    guard let fields = version["fields"], fields.isNull || fields.members != nil else {
      throw Fault(
        reason: localized(
          "\"fields\" of \"{side}\" must be a JSON object, or null for a delete", ["side": side]))
    }
    if let deleted = version["deleted"], deleted.bool != fields.isNull {
      throw Fault(
        reason: localized(
          "\"deleted\" of \"{side}\" must be true where \"fields\" is null and false elsewhere",
          ["side": side]))
    }
    return fields.isNull ? nil : fields
  }

  private static func notText(_ member: String, _ side: String) -> Fault {
    Fault(
      reason: localized(
        "\"{member}\" of \"{side}\" must be a string", ["member": member, "side": side]))
  }

  private static func form(_ resolution: Resolution) -> JSONValue {
    switch resolution {
    case .ask: ["outcome": "ask", "fields": .null, "deleted": false, "copies": []]
    case .merged(let fields, let copies):
      [
        "outcome": "merged", "fields": fields ?? .null, "deleted": .bool(fields == nil),
        "copies": .array(copies.map { ["name": .string($0.name), "fields": $0.fields] }),
      ]
    }
  }
}

/// A file of merge rules, as `resolve --rules` and `agent run --rules` take it.
enum RulesFile {
  static let option = CommandOption.optional(
    "rules", ValueKind.file,
    "Merge rules of a zone's record types, as JSON: {\"zone\": \"Todos\", \"types\": {\"Todo\": "
      + "{\"fields\": {\"done\": \"or\"}}}}.")

  static func read(_ path: String) throws(CommandFailure) -> RuleTable {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let reason = String(cString: strerror(errno))
      throw CommandFailure(
        localized(
          "the rules {path} cannot be read: {error}; give the path of a file as in docs/rules.md",
          ["path": path, "error": reason]))
    }
    let file = PlainFile(path: path, descriptor: descriptor)
    let bytes = try file.contents(atMost: Limits.rulesFileBytes, path)
    do throws(RuleFault) {
      return try RuleTable(parsing: bytes)
    } catch {
      throw CommandFailure(
        localized(
          "{path}: {reason}; see docs/rules.md", ["path": path, "reason": error.reason]))
    }
  }
}
