import LockstepClient
import LockstepJSON
import LockstepModel

/// Request of a program in any language to the process that holds a home, as a line of JSON on the
/// home's socket: `{"id": …, "do": "save", …}`. docs/sidecar.md is its contract.
///
/// Lines with `"verb"` instead of `"do"` are `HomeRequest`s of this program's own commands.
package enum SidecarRequest: Hashable, Sendable {
  case hello
  /// Edits, all or none. `isTransaction` is false for one that stands by itself.
  case edits([SidecarEdit], isTransaction: Bool)
  case record(RecordKey)
  /// The records of a type, or of all types (nil).
  case records(zone: Name, type: Name?)
  /// The same, and then every change, until the connection ends.
  case watch(zone: Name, type: Name?)
  /// The records of a zone that need a decision.
  case conflicts(zone: Name)
  case status
  case sync(milliseconds: Int64)
  case decide(RecordKey, keepLocal: Bool)

  /// Version of the contract, as `hello` answers it.
  package static let version: Int64 = 1
  /// Longest id that is a text, in bytes.
  private static let idBytesMax = 128
  private static let syncMilliseconds: Int64 = 20_000
  private static let syncMillisecondsMax: Int64 = 60_000

  /// Reads the id that the answers repeat; null if there is none.
  package static func id(of line: JSONValue) throws(SidecarFault) -> JSONValue {
    switch line["id"] {
    case nil, .null?: return .null
    case .number(let number)?: return .number(number)
    case .string(let text)? where text.utf8.count <= idBytesMax: return .string(text)
    default:
      throw .badRequest("\"id\" must be a number, or a text of at most \(idBytesMax) bytes")
    }
  }

  /// - Parameter random: Source of the names of new records.
  package init(_ line: JSONValue, random: inout SeededRandom) throws(SidecarFault) {
    switch line["do"]?.string {
    case "hello": self = .hello
    case "save", "update", "delete":
      self = .edits([try SidecarEdit(line, random: &random)], isTransaction: false)
    case "transaction":
      guard let lines = line["edits"]?.array, !lines.isEmpty, lines.count <= Limits.batchRecords
      else { throw .badRequest("\"edits\" must be an array of 1 to \(Limits.batchRecords) edits") }
      var edits: [SidecarEdit] = []
      for (index, line) in lines.enumerated() {
        do throws(SidecarFault) {
          edits.append(try SidecarEdit(line, random: &random))
        } catch {
          throw error.inEdit(index)
        }
      }
      self = .edits(edits, isTransaction: true)
    case "record": self = .record(try line.recordKey())
    case "records":
      self = .records(zone: try line.name("zone"), type: try line.optionalName("type"))
    case "watch": self = .watch(zone: try line.name("zone"), type: try line.optionalName("type"))
    case "conflicts": self = .conflicts(zone: try line.name("zone"))
    case "status": self = .status
    case "sync":
      let milliseconds = line["milliseconds"] ?? .number(JSONNumber(Self.syncMilliseconds))
      guard let time = milliseconds.int64, (0...Self.syncMillisecondsMax).contains(time) else {
        throw .badRequest("\"milliseconds\" must be a number from 0 to \(Self.syncMillisecondsMax)")
      }
      self = .sync(milliseconds: time)
    case "decide":
      guard let side = line["keep"]?.string, ["local", "relay"].contains(side) else {
        throw .badRequest("\"keep\" must be \"local\" or \"relay\"")
      }
      self = .decide(try line.recordKey(), keepLocal: side == "local")
    default:
      throw .badRequest(
        "\"do\" must be hello, save, update, delete, transaction, record, records, watch, "
          + "conflicts, status, sync or decide")
    }
  }
}

/// Edit of one record.
package struct SidecarEdit: Hashable, Sendable {
  package enum Change: Hashable, Sendable {
    /// Writes all fields, of a new record or another one.
    case save(type: Name, fields: JSONValue)
    /// Changes some fields of a record, in this order.
    case update(set: [JSONMember], removed: [String], added: [Count])
    /// Does nothing if there is no record.
    case delete
  }

  /// A number that is counted into a field of the rule `counter`.
  package struct Count: Hashable, Sendable {
    var field: String
    var number: Int64
  }

  package var key: RecordKey
  package var change: Change
}

extension SidecarEdit {
  /// Beyond it, JSON numbers are not exact in every language.
  private static let countMax: Int64 = 1 << 53

  init(_ line: JSONValue, random: inout SeededRandom) throws(SidecarFault) {
    switch line["do"]?.string {
    case "save":
      let zone = try line.name("zone")
      let name = try line.optionalName("name") ?? Self.freshName(&random)
      key = RecordKey(zone: zone, name: name)
      change = .save(type: try line.name("type"), fields: .object(try line.fields("fields")))
    case "update":
      key = try line.recordKey()
      let set = line["fields"] == nil ? [] : try line.fields("fields")
      let removed = try Self.removed(line["remove"])
      let added = try Self.added(line["add"])
      guard !(set.isEmpty && removed.isEmpty && added.isEmpty) else {
        throw .badRequest("an update needs \"fields\", \"remove\" or \"add\"")
      }
      change = .update(set: set, removed: removed, added: added)
    case "delete":
      key = try line.recordKey()
      change = .delete
    default: throw .badRequest("\"do\" of an edit must be save, update or delete")
    }
  }

  private static func removed(_ value: JSONValue?) throws(SidecarFault) -> [String] {
    guard let value else { return [] }
    let names = (value.array ?? []).compactMap(\.string)
    guard let count = value.array?.count, count == names.count, !names.contains(Stamps.member)
    else { throw .badRequest("\"remove\" must be an array of names of fields") }
    return names
  }

  private static func added(_ value: JSONValue?) throws(SidecarFault) -> [Count] {
    guard let value else { return [] }
    var counts: [Count] = []
    for member in value.members ?? [] {
      guard let number = member.value.int64, (-countMax...countMax).contains(number) else { break }
      counts.append(Count(field: member.name, number: number))
    }
    guard let count = value.members?.count, count == counts.count else {
      throw .badRequest("\"add\" must be an object of whole numbers of at most 2^53")
    }
    return counts
  }

  /// 128 random bits in hexadecimal.
  private static func freshName(_ random: inout SeededRandom) -> Name {
    let words = [random.next(), random.next()].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    return Name(trusted: words.joined())
  }
}

/// Refusal of a request, for the program that made it.
package struct SidecarFault: Error, Hashable, Sendable {
  /// Word by which a program decides; docs/sidecar.md lists them.
  package var code: String
  /// Sentence for a person, with the next step.
  package var message: String
  /// Position of the edit in a transaction that is the cause.
  package var edit: Int?

  package init(code: String, message: String) {
    self.code = code
    self.message = message
  }

  package static func badRequest(_ message: String) -> SidecarFault {
    SidecarFault(code: "badRequest", message: message + "; see docs/sidecar.md")
  }

  package init(_ failure: EditFailure) {
    let code =
      switch failure {
      case .refused: "refused"
      case .tooLarge: "tooLarge"
      case .outboxFull: "outboxFull"
      case .notJoined: "notJoined"
      case .outOfScope: "outOfScope"
      case .nothingToDecide: "nothingToDecide"
      case .restoreFirst: "restoreFirst"
      case .storage: "storage"
      case .stopping: "closing"
      }
    self.init(code: code, message: failure.explanation)
  }

  package func inEdit(_ index: Int) -> SidecarFault {
    var fault = self
    fault.edit = index
    return fault
  }

  /// The line that answers the request `id`.
  package func line(_ id: JSONValue) -> JSONValue {
    var members = [
      JSONMember("code", .string(code)), JSONMember("message", .string(message)),
    ]
    if let edit { members.append(JSONMember("edit", .number(JSONNumber(Int64(edit))))) }
    return ["id": id, "error": .object(members)]
  }
}

extension JSONValue {
  fileprivate func name(_ member: String) throws(SidecarFault) -> Name {
    guard let name = try optionalName(member) else {
      throw .badRequest("\"\(member)\" is missing")
    }
    return name
  }

  /// A member that is null counts as missing.
  fileprivate func optionalName(_ member: String) throws(SidecarFault) -> Name? {
    guard let value = self[member], !value.isNull else { return nil }
    guard let name = value.string.flatMap({ Name($0) }) else {
      throw .badRequest(
        "\"\(member)\" must be a text of 1 to \(Limits.nameBytes) bytes without control characters")
    }
    return name
  }

  fileprivate func recordKey() throws(SidecarFault) -> RecordKey {
    RecordKey(zone: try name("zone"), name: try name("name"))
  }

  fileprivate func fields(_ member: String) throws(SidecarFault) -> [JSONMember] {
    guard let members = self[member]?.members else {
      throw .badRequest("\"\(member)\" must be an object")
    }
    guard !members.contains(where: { $0.name == Stamps.member }) else {
      throw .badRequest("the field \"\(Stamps.member)\" is reserved for stamps; leave it out")
    }
    return members
  }
}
