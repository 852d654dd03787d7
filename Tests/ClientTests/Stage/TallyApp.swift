import LockstepJSON
import LockstepLanguage
import LockstepModel

/// A whole app, as described in docs/apps.md: tallies that count on every device. Depends only on
/// `LockstepModel` and `LockstepLanguage`. Refuses members that it does not know.
///
///     {"do": "add", "tally", "by"} · {"do": "move", "from", "to"}
///     {"show": "tallies"} · {"show": "names"} · {"show": "language"}
struct TallyApp: App {
  static let tally = Name(trusted: "Tally")
  /// Maximum number of tallies; the first by name are removed.
  static let most = 3

  let name = "tally"
  let zone = Name(trusted: "Tally")
  let types = [TallyApp.tally]
  let boundedTypes = [TallyApp.tally]
  var asksToRestore: [Name] = []

  func resolver(for type: Name) -> (any Resolver)? {
    type == TallyApp.tally ? TallyResolver() : nil
  }

  func outcome(of order: JSONValue, on state: AppState) throws(EditRefusal) -> AppOutcome {
    switch (order["do"]?.string, order["tally"]?.string, order["by"]?.int64) {
    case ("add", let tally?, let amount?):
      return AppOutcome([try adding(amount, to: tally)], answering: ["show": "tallies"])
    case ("move", _, _):
      guard let from = order["from"]?.string, let to = order["to"]?.string else { break }
      let steps = [try adding(1, to: to), try adding(-1, to: from)]
      return AppOutcome(steps, view: AppView(json: ["to": .string(to)], lines: ["moved to \(to)"]))
    default: break
    }
    throw EditRefusal("a tally does not know that order")
  }

  func view(_ question: JSONValue, of state: AppState) throws(EditRefusal) -> AppView {
    if question["show"] == "names" {
      let names = state.deviceNames.sorted { $0.key < $1.key }.map(\.value)
      return AppView(json: .array(names.map { .string($0) }), lines: names)
    }
    if question == ["show": "language"] {
      return AppView(json: .string(Language.current.rawValue), lines: [])
    }
    guard question == ["show": "tallies"] else { throw EditRefusal("there is no such view") }
    let sums = state.records.map { JSONMember($0.name.text, .number(JSONNumber(Self.sum($0)))) }
    return AppView(json: .object(sums), lines: sums.map { "\($0.name): \($0.value.text)" })
  }

  func surplus(of type: Name, among records: [Record]) -> [RecordKey] {
    records.map(\.key).sorted().dropLast(TallyApp.most)
  }

  /// Each device has its own number in the record, so that all of them add up.
  private func adding(_ amount: Int64, to tally: String) throws(EditRefusal) -> AppOutcome.Step {
    guard let name = Name(tally) else { throw EditRefusal("that is no name") }
    return .edit(
      EditRequest(key: RecordKey(zone: zone, name: name), type: TallyApp.tally) {
        context throws(EditRefusal) in
        let counts = TallyApp.counts(context.current)
        let own = (counts[context.device.text]?.int64 ?? 0) + amount
        guard own >= 0 else {
          throw EditRefusal(
            Language.current == .japanese
              ? "\(tally)はここにもうありません" : "nothing of \(tally) is left here")
        }
        return counts.setting(context.device.text, to: .number(JSONNumber(own)))
      })
  }

  private static func sum(_ record: Record) -> Int64 {
    (counts(record).members ?? []).reduce(0) { $0 + ($1.value.int64 ?? 0) }
  }

  private static func counts(_ record: Record?) -> JSONValue {
    guard let fields = record?.fields else { return [:] }
    do { return try JSONValue(parsing: fields) } catch { return [:] }
  }
}

/// Keeps, for each device, the number that has changed since the base.
struct TallyResolver: Resolver {
  func resolve(_ conflict: Conflict) -> Resolution {
    guard let local = conflict.local.fields, let server = conflict.server.fields else {
      return .merged(fields: conflict.local.fields ?? conflict.server.fields, copies: [])
    }
    var merged = server
    for member in local.members ?? [] {
      let before = conflict.base?.fields?[member.name]
      if member.value != before { merged = merged.setting(member.name, to: member.value) }
    }
    return .merged(fields: merged, copies: [])
  }
}
