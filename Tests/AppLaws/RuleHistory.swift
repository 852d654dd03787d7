import LockstepJSON
import LockstepModel
import WireLaws

/// One record that several devices edit, offline and online, and a relay that orders their saves.
/// At the end every field must have the value that the whole history demands, in whatever order the
/// versions arrived.
///
/// The model keeps, beside each version, the edits that its author had seen. It does not use the
/// stamps that the rules keep.
package struct RuleHistory {
  /// One edit of a field, or of an element or a member of it.
  private struct Edit {
    var time: Int64
    var device: String
    var field: String
    /// Element of a set (as JSON text) or member of a map; empty for all else.
    var part = ""
    var value: JSONValue?
    /// Numbers of the edits that the author had seen.
    var seen: Set<Int>
  }

  private struct Held {
    var version: Version?
    var seen: Set<Int> = []
  }

  private struct Device {
    var id: String
    /// The relay's version that the local one was made on.
    var base: Held
    var baseTag = 0
    var local: Held
    var isDirty = false
  }

  private static let fields: [(name: String, rule: FieldRule)] = [
    ("title", .newest), ("note", .keepBoth), ("due", .least), ("top", .greatest), ("done", .or),
    ("ok", .and), ("tags", .set), ("extra", .map), ("count", .counter), ("best", .greatestEach),
  ]

  private let resolver: RuleResolver
  private let rules: MergeRules
  private var random: SeededRandom
  private var edits: [Edit] = []
  private var devices: [Device]
  private var server = Held()
  private var tag = 0
  private var clock: Int64 = 1_790_000_000_000
  private var copies: [JSONValue] = []

  private init(seed: UInt64) {
    random = SeededRandom(seed: seed)
    var rules = MergeRules()
    for (name, rule) in Self.fields { rules[name] = rule }
    self.rules = rules
    resolver = RuleResolver(rules)
    let count = Int.random(in: 2...5, using: &random)
    devices = ["mac", "phone", "电脑", "web-1", "é"].prefix(count).map {
      Device(id: $0, base: Held(), local: Held())
    }
  }

  /// Plays one history. Throws the first difference.
  package static func play(seed: UInt64) throws(BrokenLaw) {
    var history = RuleHistory(seed: seed)
    do throws(BrokenLaw) {
      for _ in 0..<(6 + history.below(30)) { try history.step() }
      try history.settle()
      try history.check()
    } catch {
      throw BrokenLaw("history \(seed): \(error.description)")
    }
  }

  private mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

  private mutating func step() throws(BrokenLaw) {
    let device = below(devices.count)
    // Clocks differ, so that an edit made after seeing another may have the earlier clock.
    clock += Int64(below(3))
    switch below(10) {
    case 0..<5: edit(device)
    case 5..<7: try fetch(device)
    default: try save(device)
    }
  }

  // MARK: edits

  private mutating func edit(_ index: Int) {
    let current = devices[index].local.version
    var fields = current?.fields.map { Stamps.removed(from: $0) } ?? [:]
    let newest = current.map { rules.newestStamp(in: $0).time + 1 } ?? 0
    let time = max(clock + Int64(below(5)) - 2, newest)
    let before = fields
    for _ in 0...below(3) {
      let field = Self.fields[below(Self.fields.count)]
      let value = newValue(of: field.rule, fields[field.name], by: devices[index].id)
      fields = fields.setting(field.name, to: value)
    }
    guard fields != before else { return }
    record(fields, over: before, by: index, at: time)
    let stamp = Stamp(time: time, device: devices[index].id)
    devices[index].local.version = Version(
      name: "record", fields: rules.stamped(fields, over: current, at: stamp),
      modifiedAt: time, device: devices[index].id)
    devices[index].isDirty = true
  }

  private mutating func newValue(of rule: FieldRule, _ old: JSONValue?, by device: String)
    -> JSONValue?
  {
    let small = JSONValue(integerLiteral: Int64(below(5)))
    switch rule {
    case .newest, .least, .greatest:
      if below(6) == 0 { return nil }
      return below(8) == 0 ? "text" : small
    case .keepBoth: return below(6) == 0 ? nil : .string("text \(below(1_000_000))")
    case .or, .and: return below(8) == 0 ? nil : .bool(below(2) == 0)
    case .set:
      let element = small
      let rest = (old?.array ?? []).filter { $0 != element }
      return .array(rest.count < (old?.array ?? []).count ? rest : rest + [element])
    case .map:
      let name = ["k", "l", "é"][below(3)]
      return (old ?? [:]).setting(name, to: below(3) == 0 ? nil : small)
    case .counter:
      let parts = (old?[device]?.array ?? [0, 0]).map { $0.int64 ?? 0 }
      let counted: [Int64] =
        below(2) == 0 ? [parts[0] + 1, parts[1]] : [parts[0], parts[1] + 2]
      return (old ?? [:]).setting(
        device, to: .array(counted.map { .number(JSONNumber($0)) }))
    case .greatestEach:
      let name = ["p", "q"][below(2)]
      let known = old?[name]?.int64 ?? 0
      return (old ?? [:]).setting(name, to: .number(JSONNumber(known + 1)))
    }
  }

  /// Records the differences of two versions as edits.
  private mutating func record(
    _ fields: JSONValue, over before: JSONValue, by index: Int, at time: Int64
  ) {
    let seen = devices[index].local.seen
    func add(_ field: String, _ part: String, _ value: JSONValue?) {
      devices[index].local.seen.insert(edits.count)
      edits.append(
        Edit(
          time: time, device: devices[index].id, field: field, part: part, value: value,
          seen: seen))
    }
    for (name, rule) in Self.fields where fields[name] != before[name] {
      switch rule {
      case .set, .map:
        let new = Self.parts(of: fields[name])
        let old = Self.parts(of: before[name])
        for part in Set(new.keys).union(old.keys).sorted() where new[part] != old[part] {
          add(name, part, new[part])
        }
      case .newest, .keepBoth, .least, .greatest, .or, .and, .counter, .greatestEach:
        add(name, "", fields[name])
      }
    }
  }

  private static func parts(of value: JSONValue?) -> [String: JSONValue] {
    var parts: [String: JSONValue] = [:]
    for element in value?.array ?? [] { parts[element.text] = element }
    for member in value?.members ?? [] { parts[member.name] = member.value }
    return parts
  }

  // MARK: sync

  private mutating func fetch(_ index: Int) throws(BrokenLaw) {
    guard devices[index].baseTag != tag, let there = server.version else { return }
    defer {
      devices[index].base = server
      devices[index].baseTag = tag
    }
    guard devices[index].isDirty, var local = devices[index].local.version else {
      devices[index].local = server
      return
    }
    let conflict = Conflict(base: devices[index].base.version, local: local, server: there)
    let outcome = try resolve(conflict)
    local.fields = outcome.fields
    local.modifiedAt = max(local.modifiedAt, there.modifiedAt)
    copies += outcome.copies.map(\.fields)
    devices[index].local = Held(
      version: local, seen: devices[index].local.seen.union(server.seen))
    if local.fields == there.fields {
      devices[index].local = server
      devices[index].isDirty = false
    }
  }

  /// Resolves a conflict both ways round, and twice.
  private func resolve(_ conflict: Conflict) throws(BrokenLaw)
    -> (fields: JSONValue?, copies: [Resolution.Copy])
  {
    let exchanged = Conflict(base: conflict.base, local: conflict.server, server: conflict.local)
    guard case .merged(let fields, let copies) = resolver.resolve(conflict),
      case .merged(let others, let otherCopies) = resolver.resolve(exchanged)
    else { throw BrokenLaw("a person is asked") }
    try AppLaw.expect(
      fields?.serialized() == others?.serialized() && copies == otherCopies,
      "exchanged, it ends otherwise")
    var outcome = conflict.local
    outcome.fields = fields
    outcome.modifiedAt = max(conflict.local.modifiedAt, conflict.server.modifiedAt)
    let saved = Conflict(base: conflict.server, local: outcome, server: conflict.server)
    try AppLaw.expect(
      resolver.resolve(saved) == .merged(fields: fields, copies: []), "the outcome does not stay")
    return (fields, copies)
  }

  private mutating func save(_ index: Int) throws(BrokenLaw) {
    guard devices[index].isDirty else { return }
    guard devices[index].baseTag == tag else { return try fetch(index) }
    tag += 1
    server = devices[index].local
    devices[index].base = server
    devices[index].baseTag = tag
    devices[index].isDirty = false
  }

  private mutating func settle() throws(BrokenLaw) {
    for _ in 0..<2 {
      for index in devices.indices {
        try fetch(index)
        try save(index)
      }
    }
    for index in devices.indices { try fetch(index) }
  }

  // MARK: the demand

  private func check() throws(BrokenLaw) {
    for device in devices {
      try AppLaw.expect(
        device.local.version?.fields == server.version?.fields, "\(device.id) has another version")
    }
    guard let fields = server.version?.fields.map({ Stamps.removed(from: $0) }) else { return }
    for (name, rule) in Self.fields {
      let demanded = demand(name, rule)
      try AppLaw.expect(
        fields[name] ?? Self.nothing(rule) == demanded,
        "\(name) is \(fields[name]?.text ?? "absent"), not \(demanded?.text ?? "absent")")
    }
    try checkTexts(fields)
  }

  /// A set or map without elements may be absent.
  private static func nothing(_ rule: FieldRule) -> JSONValue? {
    switch rule {
    case .set: []
    case .map, .counter, .greatestEach: [:]
    case .newest, .keepBoth, .least, .greatest, .or, .and: nil
    }
  }

  private func demand(_ name: String, _ rule: FieldRule) -> JSONValue? {
    let own = edits.indices.filter { edits[$0].field == name }
    switch rule {
    case .newest, .keepBoth: return newest(own)?.value
    case .set, .map:
      let values = Set(own.map { edits[$0].part }).sorted().compactMap { part in
        newest(own.filter { edits[$0].part == part })?.value.map { (part, $0) }
      }
      return rule == .set
        ? .array(values.map(\.1)) : .object(values.map { JSONMember($0.0, $0.1) })
    case .least, .greatest, .or, .and:
      let last = unseen(own).compactMap { edits[$0].value }
      if last.count < 2 { return last.first }
      switch rule {
      case .or: return .bool(last.contains(true))
      case .and: return .bool(last.allSatisfy { $0 == true })
      case .least: return last.min { Self.rank($0) < Self.rank($1) }
      default: return last.max { Self.rank($0) < Self.rank($1) }
      }
    case .counter, .greatestEach:
      // Each edit holds all parts that its author knew, and no part ever goes down.
      let members = own.flatMap { edits[$0].value?.members ?? [] }
      let greatest = Set(members.map(\.name)).sorted().compactMap { name in
        members.filter { $0.name == name }.max { Self.total($0.value) < Self.total($1.value) }
      }
      return .object(greatest)
    }
  }

  private static func total(_ value: JSONValue?) -> Int64 {
    value?.int64 ?? (value?.array ?? []).reduce(0) { $0 + ($1.int64 ?? 0) }
  }

  /// In these histories values are numbers up to 4, or one text, which is the greatest.
  private static func rank(_ value: JSONValue) -> Int64 { value.int64 ?? 100 }

  private func newest(_ indices: [Int]) -> Edit? {
    indices.map { edits[$0] }.max {
      if $0.time != $1.time { return $0.time < $1.time }
      return $0.device.utf8.lexicographicallyPrecedes($1.device.utf8)
    }
  }

  /// The edits that no later edit of the same field had seen.
  private func unseen(_ indices: [Int]) -> [Int] {
    indices.filter { index in !indices.contains { edits[$0].seen.contains(index) } }
  }

  /// Every text that no later edit had seen is in the record or in a copy.
  private func checkTexts(_ fields: JSONValue) throws(BrokenLaw) {
    let kept = copies.compactMap { $0["note"] } + [fields["note"]].compactMap { $0 }
    for index in unseen(edits.indices.filter { edits[$0].field == "note" }) {
      guard let text = edits[index].value else { continue }
      try AppLaw.expect(kept.contains(text), "the text \(text.text) is lost")
    }
  }
}
