import LockstepApps
import LockstepJSON
import LockstepModel
import WireLaws

extension AppLaw {
  /// Laws of views and orders for any content of an app's records: rows have no control characters,
  /// output for programs is JSON, a view that changes by itself does so later than now, and the
  /// sequence of timed edits of a record ends, at instants that a clock can show.
  package static func screens(_ bytes: [UInt8]) throws(BrokenLaw) {
    var hostile = HostileFields(draw: ByteDraw(bytes))
    let seal = VaultKey(bytes: Array(1...16)).map(VaultSeal.init)
    let app = hostile.draw.one(of: AppCatalog.all(vaultSeal: { seal }))
    let records = (0..<hostile.draw.below(6)).map { _ in record(of: app.types, app.zone, &hostile) }
    var state = AppState(
      records: records, now: hostile.draw.instant(), device: DeviceID(rawValue: 0xA),
      deviceNames: [DeviceID(rawValue: 0xB): hostile.text()])
    if hostile.draw.below(3) == 0 { state.asking = [record(of: app.types, app.zone, &hostile)] }
    try look(at: app, state, &hostile)
    try use(app, state, &hostile)
    for record in records { try waitFor(record, app, &hostile) }
    for type in app.types {
      let keys = Set(records.map(\.key))
      let surplus = app.surplus(of: type, among: records)
      try expect(Set(surplus).isSubset(of: keys), "what was never there is let go")
    }
  }

  private static func record(
    of types: [Name], _ zone: Name, _ hostile: inout HostileFields
  ) -> Record {
    let type = hostile.draw.one(of: types)
    let names = ["current", "settings", "key", "code/x", "vault.db", "list"]
    let text = hostile.draw.below(2) == 0 ? hostile.draw.one(of: names) : hostile.text()
    return Record(
      zone: zone, name: Name(text) ?? Name(trusted: "record"), type: type,
      fields: hostile.fields(of: type).serialized(), modifiedAt: hostile.draw.instant(),
      device: DeviceID(rawValue: UInt64(hostile.draw.below(16))), tag: 1)
  }

  private static let questions = [
    "screen", "board", "settings", "files", "conflicts", "codes", "list", "item", "memo", "search",
    "week", "day", "statistics",
  ]
  private static let orders = [
    "start", "pause", "resume", "stop", "skip", "snooze", "set", "add", "edit", "remove", "clear",
    "check", "count", "keep", "clean", "settle", "archive", "move",
  ]

  private static func look(
    at app: any App, _ state: AppState, _ hostile: inout HostileFields
  ) throws(BrokenLaw) {
    for word in questions {
      guard let view = shown(app, words("show", word, state, &hostile), state) else { continue }
      try check(view, at: state.now)
    }
  }

  /// Returns nil if the question is refused, which is allowed.
  private static func shown(_ app: any App, _ question: JSONValue, _ state: AppState) -> AppView? {
    do { return try app.view(question, of: state) } catch { return nil }
  }

  private static func use(
    _ app: any App, _ state: AppState, _ hostile: inout HostileFields
  ) throws(BrokenLaw) {
    for word in orders {
      guard let outcome = outcome(app, words("do", word, state, &hostile), state) else { continue }
      if case .view(let view) = outcome.answer { try check(view, at: state.now) }
      for case .edit(let request) in outcome.steps {
        let current = state.records.first { $0.key == request.key }
        let context = EditContext(
          current: current, stamp: max(state.now, (current?.modifiedAt ?? 0) + 1),
          device: state.device)
        guard let fields = made(request, context) else { continue }
        try expect(fields.members != nil, "an order makes fields that are no object: \(fields)")
        try check(fields)
      }
    }
  }

  private static func outcome(
    _ app: any App, _ order: JSONValue, _ state: AppState
  ) -> AppOutcome? {
    do { return try app.outcome(of: order, on: state) } catch { return nil }
  }

  private static func made(_ request: EditRequest, _ context: EditContext) -> JSONValue? {
    do { return try request.make(context) } catch { return nil }
  }

  /// Returns all arguments that an app's orders and questions may need, some of them useless.
  private static func words(
    _ verb: String, _ word: String, _ state: AppState, _ hostile: inout HostileFields
  ) -> JSONValue {
    let names = state.records.map(\.name.text) + ["1", "2"]
    var words: JSONValue = [
      verb: .string(word), "day": "2026-03-01", "name": "new", "content": "text", "title": "title",
      "kind": "count", "target": 3, "by": 1, "done": true, "version": "local", "archived": true,
      "place": 1,
    ]
    let subject = hostile.draw.below(3) == 0 ? hostile.text() : hostile.draw.one(of: names)
    let further = ["item", "memo", "habit"].map { JSONMember($0, .string(subject)) }
    words = words.setting(further)
    for name in ["day", "content", "was", "words", "name", "title", "kind", "version"]
    where hostile.draw.below(4) == 0 {
      words = words.setting([JSONMember(name, .string(hostile.text()))])
    }
    for name in ["by", "target", "length", "place"] where hostile.draw.below(3) == 0 {
      words = words.setting([JSONMember(name, .number(hostile.number()))])
    }
    return words.setting([JSONMember("settings", hostile.fields(of: TimerApp.settingsType))])
  }

  private static func check(_ view: AppView, at now: Int64) throws(BrokenLaw) {
    for line in view.lines {
      let isPlain = line.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      try expect(isPlain, "a row has a control character: \(line.debugDescription)")
    }
    try check(view.json)
    try check(view.stableJSON)
    if let changesAt = view.changesAt {
      try expect(changesAt > now, "at \(now) it changes at \(changesAt)")
    }
  }

  private static func check(_ value: JSONValue) throws(BrokenLaw) {
    try expect(JSONValue(ifJSON: value.serialized()) == value, "\(value.text) is no JSON")
  }

  private static func waitFor(
    _ record: Record, _ app: any App, _ hostile: inout HostileFields
  ) throws(BrokenLaw) {
    var record = record
    var steps = 0
    while let due = app.dueEdit(for: record), steps <= Limits.dueEdits {
      steps += 1
      try expect(
        (0..<Limits.sequenceLimit).contains(due.dueAt), "it is due at \(due.dueAt)")
      try check(due.fields)
      let fields = due.fields.serialized()
      if fields == record.fields { break }
      record.fields = fields
    }
    try expect(steps <= Limits.dueEdits, "time makes one edit after the other for ever")
    guard let value = record.fields.flatMap({ JSONValue(ifJSON: $0) }) else { return }
    let (from, to) = (hostile.draw.instant(), hostile.draw.instant())
    let base = hostile.draw.below(2) == 0 ? value : nil
    try check(app.restamped(value, of: record.type, base: base, from: from, to: to))
    let chunks = app.chunks(in: value, of: record.type)
    try expect(Set(chunks).count == chunks.count, "a chunk is named twice")
  }
}
