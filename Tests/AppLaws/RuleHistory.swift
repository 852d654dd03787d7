import LockstepJSON
import LockstepModel
import WireLaws

/// One record that two to five devices edit, offline and online, and a relay that orders their
/// saves. At the end the record must be what the whole history demands, in every order in which the
/// last versions can arrive.
///
/// The model keeps, beside each version, the edits that its author had seen. It does not use the
/// stamps that the rules keep.
package struct RuleHistory {
  /// Rules that a history is about.
  package enum Subject: Hashable, Sendable {
    /// Two fields of one rule, and one that has the newest value.
    case field(FieldRule)
    /// A field of each rule.
    case allFields
    case deletion(MergeRules.DeleteRule)
    /// A person decides each conflict.
    case asking

    package static let all: [Subject] =
      FieldRule.allCases.map { .field($0) } + [.allFields]
      + MergeRules.DeleteRule.allCases.map { .deletion($0) } + [.asking]

    /// Name on the command line.
    package var name: String {
      switch self {
      case .field(let rule): rule.rawValue
      case .allFields: "all"
      case .deletion(let rule): "delete-" + rule.rawValue
      case .asking: "ask"
      }
    }

    package init?(name: String) {
      guard let subject = Subject.all.first(where: { $0.name == name }) else { return nil }
      self = subject
    }

    fileprivate var fields: [(name: String, rule: FieldRule)] {
      switch self {
      case .field(let rule): [("one", rule), ("two", rule), ("title", .newest)]
      case .allFields:
        [
          ("title", .newest), ("note", .keepBoth), ("due", .least), ("top", .greatest),
          ("done", .or), ("ok", .and), ("tags", .set), ("extra", .map), ("count", .counter),
          ("best", .greatestEach),
        ]
      // Where the newer of a change and a deletion remains, what the older one had is gone with
      // it, also in other fields: with more than one, the order of arrival may decide.
      case .deletion(.newest): [("title", .newest)]
      case .deletion, .asking: [("title", .newest), ("note", .newest)]
      }
    }

    package var rules: MergeRules {
      var rules = MergeRules()
      for (name, rule) in fields { rules[name] = rule }
      if case .deletion(let rule) = self { rules.delete = rule }
      rules.asks = self == .asking
      return rules
    }

    fileprivate var hasDeletions: Bool {
      switch self {
      case .field, .allFields: false
      case .deletion, .asking: true
      }
    }
  }

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
    var isDeletion = false
  }

  private struct Held {
    var version: Version?
    var seen: Set<Int> = []
    /// Those of the edits that no deletion has taken away from this version.
    var content: Set<Int> = []
  }

  private struct Device {
    var id: String
    /// The relay's version that the local one was made on.
    var base: Held
    var baseTag = 0
    var local: Held
    var isDirty = false
  }

  private let subject: Subject
  private let fields: [(name: String, rule: FieldRule)]
  private let resolver: any Resolver
  private let rules: MergeRules
  private var random: SeededRandom
  private var edits: [Edit] = []
  private var devices: [Device]
  private var server = Held()
  private var tag = 0
  private var clock: Int64 = 1_790_000_000_000
  private var copies: [JSONValue] = []
  /// Edits that a person has decided against.
  private var rejected: Set<Int> = []
  /// Edits that brought nothing to a newer version, or the same.
  private var subsumed: Set<Int> = []

  private init(seed: UInt64, _ subject: Subject, _ resolver: (any Resolver)?) {
    random = SeededRandom(seed: seed)
    self.subject = subject
    fields = subject.fields
    rules = subject.rules
    self.resolver = resolver ?? RuleResolver(subject.rules)
    let count = Int.random(in: 2...5, using: &random)
    devices = ["mac", "phone", "电脑", "web-1", "é"].prefix(count).map {
      Device(id: $0, base: Held(), local: Held())
    }
  }

  /// Plays one history. Returns the number of orders of arrival; throws the first difference.
  ///
  /// - Parameter resolver: In the place of that of the rules, to prove that a mistake is found.
  @discardableResult
  package static func play(
    seed: UInt64, _ subject: Subject, by resolver: (any Resolver)? = nil
  ) throws(BrokenLaw) -> Int {
    var history = RuleHistory(seed: seed, subject, resolver)
    do throws(BrokenLaw) {
      for _ in 0..<(6 + history.below(30)) { try history.step() }
      return try history.settleInEveryOrder()
    } catch {
      throw BrokenLaw("\(subject.name), history \(seed): \(error.description)")
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
    let newest = current.map { rules.newestStamp(in: $0).time + 1 } ?? 0
    let time = max(clock + Int64(below(5)) - 2, newest)
    if subject.hasDeletions, let current {
      if current.isDeleted {
        // A record that is made again after a deletion is another one where deletions win.
        guard subject == .deletion(.changeWins) || subject == .asking else { return }
      } else if below(4) == 0 {
        return delete(index, at: time)
      }
    }
    var fields = current?.fields.map { Stamps.removed(from: $0) } ?? [:]
    let before = fields
    for _ in 0...below(3) {
      let field = self.fields[below(self.fields.count)]
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

  private mutating func delete(_ index: Int, at time: Int64) {
    let seen = devices[index].local.seen
    add(
      Edit(time: time, device: devices[index].id, field: "", seen: seen, isDeletion: true), index)
    devices[index].local.content = []
    devices[index].local.version = Version(
      name: "record", fields: nil, modifiedAt: time, device: devices[index].id)
    devices[index].isDirty = true
  }

  private mutating func add(_ edit: Edit, _ index: Int) {
    devices[index].local.seen.insert(edits.count)
    devices[index].local.content.insert(edits.count)
    edits.append(edit)
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
    func edit(_ field: String, _ part: String, _ value: JSONValue?) -> Edit {
      Edit(
        time: time, device: devices[index].id, field: field, part: part, value: value, seen: seen)
    }
    var made: [Edit] = []
    for (name, rule) in self.fields where fields[name] != before[name] {
      switch rule {
      case .set, .map:
        let new = Self.parts(of: fields[name])
        let old = Self.parts(of: before[name])
        for part in Set(new.keys).union(old.keys).sorted() where new[part] != old[part] {
          made.append(edit(name, part, new[part]))
        }
      case .newest, .keepBoth, .least, .greatest, .or, .and, .counter, .greatestEach:
        made.append(edit(name, "", fields[name]))
      }
    }
    for edit in made { add(edit, index) }
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
    guard devices[index].isDirty, let local = devices[index].local.version else {
      devices[index].local = server
      return
    }
    let conflict = Conflict(base: devices[index].base.version, local: local, server: there)
    guard let outcome = try resolve(conflict) else { return decide(index, local, there) }
    copies += outcome.copies.map(\.fields)
    merge(index, local, there, outcome.fields)
  }

  private mutating func merge(
    _ index: Int, _ local: Version, _ there: Version, _ fields: JSONValue?
  ) {
    var merged = local
    merged.fields = fields
    if !there.isDeleted || local.isDeleted {
      merged.modifiedAt = max(local.modifiedAt, there.modifiedAt)
    } else if fields == local.fields {
      // The version that outlives a deletion keeps its own stamps.
      merged.fields = rules.explicit(local)
      merged.modifiedAt = max(local.modifiedAt, there.modifiedAt)
    }
    var content: Set<Int> = []
    if fields != nil {
      if !local.isDeleted { content.formUnion(devices[index].local.content) }
      if !there.isDeleted { content.formUnion(server.content) }
    }
    let seen = devices[index].local.seen.union(server.seen)
    // A version with the same content and a later stamp is saved where the later of two versions
    // remains.
    let isLaterSame = resolver.isLastWriterWins && local.modifiedAt > there.modifiedAt
    if fields == there.fields, !isLaterSame {
      subsumed.formUnion(seen.subtracting(server.seen))
      devices[index].local = server
      devices[index].isDirty = false
    } else {
      devices[index].local = Held(version: merged, seen: seen, content: content)
    }
  }

  /// A person keeps one of the versions, having seen both.
  private mutating func decide(_ index: Int, _ local: Version, _ there: Version) {
    if below(2) == 0 {
      rejected.formUnion(devices[index].local.seen.subtracting(server.seen))
      devices[index].local = server
      devices[index].isDirty = false
    } else {
      var kept = local
      let newest = max(rules.newestStamp(in: local).time, rules.newestStamp(in: there).time)
      kept.modifiedAt = newest + 1
      kept.fields = local.fields.map { rules.chosen($0, over: there, at: kept.stamp) }
      devices[index].local.version = kept
      devices[index].local.seen.formUnion(server.seen)
    }
  }

  /// Resolves a conflict both ways round, and twice. Returns nil if a person is asked.
  private func resolve(_ conflict: Conflict) throws(BrokenLaw)
    -> (fields: JSONValue?, copies: [Resolution.Copy])?
  {
    let exchanged = Conflict(base: conflict.base, local: conflict.server, server: conflict.local)
    guard case .merged(let fields, let copies) = resolver.resolve(conflict),
      case .merged(let others, let otherCopies) = resolver.resolve(exchanged)
    else {
      try AppLaw.expect(subject == .asking, "a person is asked")
      try AppLaw.expect(
        resolver.resolve(conflict) == .ask && resolver.resolve(exchanged) == .ask,
        "exchanged, a person is not asked")
      return nil
    }
    try AppLaw.expect(
      fields?.serialized() == others?.serialized() && copies == otherCopies,
      "exchanged, it ends otherwise")
    if subject == .asking {
      let isSame = Self.content(conflict.local) == Self.content(conflict.server)
      try AppLaw.expect(isSame, "no person is asked")
    }
    var outcome = conflict.local
    outcome.fields = fields
    outcome.modifiedAt = max(conflict.local.modifiedAt, conflict.server.modifiedAt)
    // A deletion that an older change outlives is not saved by anybody.
    if conflict.local.isDeleted == conflict.server.isDeleted {
      let saved = Conflict(base: conflict.server, local: outcome, server: conflict.server)
      try AppLaw.expect(
        resolver.resolve(saved) == .merged(fields: fields, copies: []),
        "the outcome does not stay")
    }
    return (fields, copies)
  }

  private static func content(_ version: Version) -> JSONValue? {
    version.fields.map { Stamps.removed(from: $0) }
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

  /// Ends the history in each order in which the devices' last versions can arrive. The record must
  /// be the same after each. Where persons decide, each order may end otherwise, and so it may
  /// where a change wins over a deletion: what the deletion took away comes back only if the change
  /// meets it first.
  private func settleInEveryOrder() throws(BrokenLaw) -> Int {
    let orders = Self.orders(of: devices.indices.filter { devices[$0].isDirty })
    var first: [UInt8]?
    for order in orders {
      var history = self
      try history.settle(order)
      try history.check()
      var fields = history.server.version?.fields
      if case .deletion = subject {
        // The stamps are spelled out only where the version met the deletion.
        fields = history.server.version.flatMap { rules.explicit($0) }
      }
      let outcome = fields?.serialized() ?? []
      if subject == .asking || subject == .deletion(.changeWins) { continue }
      try AppLaw.expect(
        (first ?? outcome) == outcome,
        "the order \(order.map { devices[$0].id }) ends with \(Self.text(outcome)), another with "
          + Self.text(first ?? []))
      first = outcome
    }
    return orders.count
  }

  private static func text(_ fields: [UInt8]) -> String {
    fields.isEmpty ? "nothing" : String(decoding: fields, as: UTF8.self)
  }

  private static func orders(of devices: [Int]) -> [[Int]] {
    devices.isEmpty
      ? [[]]
      : devices.flatMap { first in
        orders(of: devices.filter { $0 != first }).map { [first] + $0 }
      }
  }

  private mutating func settle(_ order: [Int]) throws(BrokenLaw) {
    for index in order {
      try fetch(index)
      try save(index)
    }
    for index in devices.indices { try fetch(index) }
  }

  // MARK: the demand

  private func check() throws(BrokenLaw) {
    for device in devices {
      try AppLaw.expect(!device.isDirty, "\(device.id) still has something to save")
      try AppLaw.expect(
        device.local.version?.fields == server.version?.fields, "\(device.id) has another version")
    }
    switch subject {
    case .asking: return try checkDecisions()
    case .deletion(let rule): try checkDeletion(rule)
    case .field, .allFields: break
    }
    guard let fields = server.version?.fields.map({ Stamps.removed(from: $0) }) else { return }
    for (name, rule) in self.fields {
      let demanded = demand(name, rule)
      try AppLaw.expect(
        fields[name] ?? Self.nothing(rule) == demanded,
        "\(name) is \(fields[name]?.text ?? "absent"), not \(demanded?.text ?? "absent")")
    }
    for (name, rule) in self.fields where rule == .keepBoth { try checkTexts(name, fields) }
  }

  /// Each edit was seen by the author of what remains, or a person has decided against it.
  private func checkDecisions() throws(BrokenLaw) {
    for index in edits.indices where !server.seen.contains(index) {
      try AppLaw.expect(
        rejected.contains(index) || subsumed.contains(index),
        "an edit of \(edits[index].device) was lost without a decision")
    }
  }

  private func checkDeletion(_ rule: MergeRules.DeleteRule) throws(BrokenLaw) {
    let deletions = edits.filter(\.isDeletion)
    let changes = edits.indices.filter { !edits[$0].isDeletion }
    guard !edits.isEmpty else { return }
    let isLive: Bool
    switch rule {
    case .changeWins:
      let unseen = changes.filter { change in
        !deletions.contains { $0.seen.contains(change) }
      }
      // A change that met a newer one first left nothing that could outlive a deletion.
      if !unseen.isEmpty, subsumed.isSuperset(of: unseen) { return }
      isLive = !unseen.isEmpty
    case .deleteWins: isLive = deletions.isEmpty
    case .newest:
      // At one time the deletion remains.
      let newest = changes.map { edits[$0].time }.max() ?? .min
      isLive = newest > (deletions.map(\.time).max() ?? .min)
    }
    try AppLaw.expect(
      (server.version?.fields != nil) == isLive, isLive ? "it is deleted" : "it is not deleted")
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
    let own = effective.filter { edits[$0].field == name && !edits[$0].isDeletion }
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

  /// Edits that may decide: what a deletion has taken away is gone, unless a change that it had not
  /// seen continues it.
  private var effective: [Int] {
    subject == .deletion(.changeWins) ? server.content.sorted() : Array(edits.indices)
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
  private func checkTexts(_ name: String, _ fields: JSONValue) throws(BrokenLaw) {
    let kept = copies.compactMap { $0[name] } + [fields[name]].compactMap { $0 }
    for index in unseen(edits.indices.filter { edits[$0].field == name }) {
      guard let text = edits[index].value else { continue }
      try AppLaw.expect(kept.contains(text), "the text \(text.text) is lost")
    }
  }
}
