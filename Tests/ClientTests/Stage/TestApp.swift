import LockstepClient
import LockstepJSON
import LockstepModel

/// A small app with one record type for each thing that a rule may do.
struct TestApp: App {
  static let zone = Name(trusted: "Desk")
  /// `{"text","at"}`: the newer wins; `at` is the stamp.
  static let note = Name(trusted: "Note")
  /// As a note, but a change outlives a deletion.
  static let page = Name(trusted: "Page")
  /// `{device: n}`: the greater number of each device wins.
  static let counter = Name(trusted: "Counter")
  /// A user decides.
  static let choice = Name(trusted: "Choice")
  /// The newer stays, the other is kept as a copy. May name chunks as an album does.
  static let draft = Name(trusted: "Draft")
  /// `{"rings","dueAt","owner","again"?}`: rings once when it is due, and once more at `again`.
  static let egg = Name(trusted: "Egg")

  /// The newer stays; the other is kept as a copy whose name is not unique.
  static let echo = Name(trusted: "Echo")

  /// `{"pieces": [hash…]}`: names chunks of files.
  static let album = Name(trusted: "Album")

  /// Merged by a table of rules.
  static let task = Name(trusted: "Task")
  static let taskRules: MergeRules = ["done": .or, "count": .counter]

  /// Merged by a table that keeps both texts.
  static let memo = Name(trusted: "Memo")
  static let memoRules: MergeRules = ["text": .keepBoth, "done": .or]

  /// A table by which a user decides.
  static let poll = Name(trusted: "Poll")

  var name: String { "desk" }
  var zone: Name { TestApp.zone }

  func resolver(for type: Name) -> (any Resolver)? {
    switch type {
    case TestApp.note, TestApp.egg, TestApp.album: NewerRule()
    case TestApp.page: PageRule()
    case TestApp.counter: CounterRule()
    case TestApp.choice: ChoiceRule()
    case TestApp.draft: DraftRule()
    case TestApp.echo: EchoRule()
    default: rules(for: type).map { RuleResolver($0) }
    }
  }

  func rules(for type: Name) -> MergeRules? {
    switch type {
    case TestApp.task: TestApp.taskRules
    case TestApp.memo: TestApp.memoRules
    case TestApp.poll: MergeRules(asks: true)
    default: nil
    }
  }

  var timedTypes: [Name] { [TestApp.egg] }

  func dueEdit(for record: Record) -> DueEdit? {
    guard record.type == TestApp.egg, let fields = record.value, let dueAt = fields["dueAt"]?.int64
    else { return nil }
    var rung: JSONValue = ["rings": .number(JSONNumber((fields["rings"]?.int64 ?? 0) + 1))]
    if let again = fields["again"], let owner = fields["owner"] {
      rung = rung.setting("dueAt", to: again).setting("owner", to: owner)
    }
    let bell = fields["bell"]?.string.map {
      DueAddition(
        name: Name(trusted: "bells"), type: TestApp.note, field: "rung",
        member: JSONMember($0, .number(JSONNumber(dueAt))))
    }
    return DueEdit(
      dueAt: dueAt, owner: fields["owner"]?.string ?? "", graceMilliseconds: 2_000, fields: rung,
      addition: bell)
  }

  func restamped(_ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64)
    -> JSONValue
  {
    guard type == TestApp.note, let at = fields["at"]?.int64, base?["at"]?.int64 != at else {
      return fields
    }
    return fields.setting("at", to: .number(JSONNumber(at + to - from)))
  }

  func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] {
    guard type == TestApp.album || type == TestApp.draft else { return [] }
    return (fields["pieces"]?.array ?? []).compactMap { $0.string.flatMap(ChunkHash.init(text:)) }
  }
}

struct NewerRule: Resolver {
  let isLastWriterWins = true

  func resolve(_ conflict: Conflict) -> Resolution {
    .merged(fields: conflict.newer.fields, copies: [])
  }
}

struct PageRule: Resolver {
  func resolve(_ conflict: Conflict) -> Resolution {
    ChangeOutlivesDelete.resolution(of: conflict)
      ?? .merged(fields: conflict.newer.fields, copies: [])
  }
}

struct CounterRule: Resolver {
  func resolve(_ conflict: Conflict) -> Resolution {
    var merged = conflict.local.fields ?? [:]
    for member in conflict.server.fields?.members ?? [] {
      let mine = merged[member.name]?.int64 ?? 0
      let theirs = member.value.int64 ?? 0
      merged = merged.setting(member.name, to: .number(JSONNumber(max(mine, theirs))))
    }
    return .merged(fields: merged, copies: [])
  }
}

struct ChoiceRule: Resolver {
  func resolve(_ conflict: Conflict) -> Resolution {
    guard conflict.local.fields == conflict.server.fields else { return .ask }
    return .merged(fields: conflict.server.fields, copies: [])
  }
}

struct DraftRule: Resolver {
  func resolve(_ conflict: Conflict) -> Resolution {
    // A side that changed nothing is not kept beside the other.
    if let base = conflict.base {
      if base.fields == conflict.local.fields {
        return .merged(fields: conflict.server.fields, copies: [])
      }
      if base.fields == conflict.server.fields {
        return .merged(fields: conflict.local.fields, copies: [])
      }
    }
    let newer = conflict.newer
    let older = newer == conflict.local ? conflict.server : conflict.local
    guard let kept = older.fields, kept != newer.fields else {
      return .merged(fields: newer.fields, copies: [])
    }
    let copy = Resolution.Copy(
      name: "\(older.name)~\(older.device)-\(older.modifiedAt)", fields: kept)
    return .merged(fields: newer.fields, copies: [copy])
  }
}

struct EchoRule: Resolver {
  func resolve(_ conflict: Conflict) -> Resolution {
    let newer = conflict.newer
    let older = newer == conflict.local ? conflict.server : conflict.local
    let copies = older.fields.map { [Resolution.Copy(name: "echo", fields: $0)] } ?? []
    return .merged(fields: newer.fields, copies: older.fields == newer.fields ? [] : copies)
  }
}

extension Conflict {
  var newer: Version {
    (local.modifiedAt, local.device) > (server.modifiedAt, server.device) ? local : server
  }
}

extension Record {
  var value: JSONValue? { fields.flatMap { bytes in try? JSONValue(parsing: bytes) } }
  var text: String? { value?["text"]?.string }
}

extension RecordKey {
  static func desk(_ name: String) -> RecordKey {
    RecordKey(zone: TestApp.zone, name: Name(trusted: name))
  }
}

extension EditRequest {
  static func note(_ name: String, _ text: String) -> EditRequest {
    EditRequest(key: .desk(name), type: TestApp.note) { context in
      ["text": .string(text), "at": .number(JSONNumber(context.stamp))]
    }
  }

  /// Edits the note `a` of a zone.
  static func text(_ text: String, in zone: Name) -> EditRequest {
    EditRequest(
      key: RecordKey(zone: zone, name: Name(trusted: "a")), type: TestApp.note
    ) { _ in ["text": .string(text)] }
  }

  static func fields(_ name: String, _ type: Name, _ fields: JSONValue) -> EditRequest {
    EditRequest(key: .desk(name), type: type) { _ in fields }
  }

  static func count(_ name: String) -> EditRequest {
    EditRequest(key: .desk(name), type: TestApp.counter) { context in
      let now = context.current?.value ?? [:]
      let mine = now[context.device.text]?.int64 ?? 0
      return now.setting(context.device.text, to: .number(JSONNumber(mine + 1)))
    }
  }

  static func delete(_ name: String) -> EditRequest {
    EditRequest(key: .desk(name), type: TestApp.note) { _ in nil }
  }
}
