import LockstepApps
import LockstepJSON
import LockstepModel

/// An app whose merge rules have one bug.
struct BrokenApp: App {
  let app: any App
  let breakage: Breakage

  var name: String { app.name }
  var zone: Name { app.zone }
  var types: [Name] { app.types }
  var timedTypes: [Name] { app.timedTypes }
  var boundedTypes: [Name] { app.boundedTypes }
  var asksToRestore: [Name] { app.asksToRestore }

  func resolver(for type: Name) -> (any Resolver)? {
    app.resolver(for: type).map { BrokenResolver(resolver: $0, breakage: breakage, type: type) }
  }

  func rules(for type: Name) -> MergeRules? { app.rules(for: type) }

  func dueEdit(for record: Record) -> DueEdit? {
    guard var due = app.dueEdit(for: record) else { return nil }
    if breakage == .timeUndoesActs, let edits = due.fields["edits"]?.array {
      // Keeps the edit alone and drops the act that it belongs to.
      let made = edits.prefix(1).map { $0.setting("act", to: nil) }
      let fields = due.fields.setting("edits", to: .array(made))
      due.fields = fields
    }
    return due
  }

  func restamped(
    _ fields: JSONValue, of type: Name, base: JSONValue?, from: Int64, to: Int64
  ) -> JSONValue {
    app.restamped(fields, of: type, base: base, from: from, to: to)
  }

  func chunks(in fields: JSONValue, of type: Name) -> [ChunkHash] {
    app.chunks(in: fields, of: type)
  }

  func surplus(of type: Name, among records: [Record]) -> [RecordKey] {
    app.surplus(of: type, among: records)
  }

  func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    try app.view(question, of: state)
  }

  func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    var outcome = try app.outcome(of: order, on: state)
    if breakage == .trimsUnread, zone == ClipboardApp.zone, order["do"]?.string == "add" {
      // Trims at once, together with the new item, and not after the device has caught up.
      for item in ClipboardContents(state.records).items.dropFirst(Limits.clipboardItems - 1) {
        let edit = EditRequest(key: item.record.key, type: ClipboardApp.itemType) {
          _ throws(EditRefusal) in nil
        }
        outcome.steps.append(.edit(edit))
      }
    }
    return outcome
  }
}

private struct BrokenResolver: Resolver {
  let resolver: any Resolver
  let breakage: Breakage
  let type: Name

  var isLastWriterWins: Bool { resolver.isLastWriterWins }

  func resolve(_ conflict: Conflict) -> Resolution {
    let right = resolver.resolve(conflict)
    switch (breakage, right) {
    case (.takesRemote, _) where type == TimerApp.stateType || type == TimerApp.settingsType:
      return .merged(fields: conflict.server.fields, copies: [])
    case (.skipsAncestor, _):
      return resolver.resolve(
        Conflict(
          base: nil, local: withoutReplaced(conflict.local),
          server: withoutReplaced(conflict.server)))
    case (.dropsCopies, .merged(let fields, _)): return .merged(fields: fields, copies: [])
    case (.neverAsks, .ask): return .merged(fields: conflict.sides.newer.fields, copies: [])
    case (.deletesWin, _)
    where type == MemosApp.memoType
      && (conflict.local.isDeleted || conflict.server.isDeleted):
      return .merged(fields: nil, copies: [])
    case (.addsCounts, .merged(let fields?, let copies)) where type == HabitsApp.checkInType:
      return .merged(fields: added(fields, conflict), copies: copies)
    case (.dropsCandidates, .merged(let fields?, let copies)) where type == TablesApp.type:
      return .merged(fields: withoutCandidates(fields), copies: copies)
    case (.forgetsTableBase, _) where type == TablesApp.type:
      return resolver.resolve(
        Conflict(base: nil, local: conflict.local, server: conflict.server))
    case (.dropsStamps, _) where type == TablesApp.type:
      return resolver.resolve(
        Conflict(
          base: conflict.base.map(withoutStamps), local: withoutStamps(conflict.local),
          server: withoutStamps(conflict.server)))
    default: return right
    }
  }

  /// Removes from a timer's edits the acts that they replaced, which also tell a rule what its base
  /// tells.
  private func withoutReplaced(_ version: Version) -> Version {
    guard type == TimerApp.stateType, let edits = version.fields?["edits"]?.array else {
      return version
    }
    var version = version
    version.fields = version.fields?.setting(
      "edits", to: .array(edits.map { $0.setting("replaces", to: nil) }))
    return version
  }

  private func withoutStamps(_ version: Version) -> Version {
    var version = version
    version.fields = version.fields.map { Stamps.removed(from: $0) }
    return version
  }

  /// Keeps the last one of several concurrent values of a field.
  private func withoutCandidates(_ fields: JSONValue) -> JSONValue {
    var stamps = fields[Stamps.member] ?? [:]
    var kept = fields
    for entry in stamps.members ?? [] {
      guard let last = entry.value.array?.last?.array, last.count >= 2 else { continue }
      stamps = stamps.setting(entry.name, to: .array([last[0], last[1]]))
      kept = kept.setting(entry.name, to: last.count > 2 ? last[2] : nil)
    }
    return kept.setting(Stamps.member, to: stamps)
  }

  /// Adds up the counts of both sides, as if neither had been made on top of the other.
  private func added(_ fields: JSONValue, _ conflict: Conflict) -> JSONValue {
    var counts: JSONValue = [:]
    for member in fields["counts"]?.members ?? [] {
      let sides = [conflict.local, conflict.server].map {
        $0.fields?["counts"]?[member.name]?.int64 ?? 0
      }
      counts = counts.setting(member.name, to: .number(JSONNumber(sides[0] + sides[1])))
    }
    return fields.setting("counts", to: counts)
  }
}
