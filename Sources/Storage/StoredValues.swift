import LockstepJSON
import LockstepModel

extension Plan {
  /// Stored form, the same in every store: the zones as a JSON array; nil for all zones.
  package var storedText: String? {
    zones.map { JSONValue($0).text }
  }

  /// Returns nil if the text was not made by `storedText`: the store is damaged.
  package init?(storedText: String?) {
    guard let storedText else {
      self = .everything
      return
    }
    guard let zones = JSONValue(ifJSON: Array(storedText.utf8))?.names else { return nil }
    self.init(zones: zones)
  }
}

extension DeviceScope {
  /// Stored form, the same in every store and home: `{"access":"read","zones":["a"]}`,
  /// with both members only if they limit something; nil for the whole account.
  package var storedText: String? {
    if self == .everything { return nil }
    var members: [JSONMember] = []
    if isReadOnly { members.append(JSONMember("access", "read")) }
    if let zones { members.append(JSONMember("zones", JSONValue(zones))) }
    return JSONValue.object(members).text
  }

  /// Returns nil if the text was not made by `storedText`: the store is damaged, or a later version
  /// of the program knows other limits.
  package init?(storedText: String?) {
    guard let storedText else {
      self = .everything
      return
    }
    guard let form = JSONValue(ifJSON: Array(storedText.utf8)), let members = form.members else {
      return nil
    }
    var zones: [Name]?
    var isReadOnly = false
    for member in members {
      switch member.name {
      case "access" where member.value == "read": isReadOnly = true
      case "zones":
        guard let names = member.value.names else { return nil }
        zones = names
      default: return nil
      }
    }
    self.init(zones: zones, isReadOnly: isReadOnly)
    // `{}` would be the whole account, and of a member that occurs twice the last would count.
    guard self.storedText == storedText else { return nil }
  }
}

/// Stored form of a subscription without its id, the same in every store: JSON, in exactly this
/// form.
///
///     {"kind":"database"}
///     {"kind":"zone","zone":"Notes"}
///     {"kind":"query","type":"Note","zone":"Notes","where":["done",true],"events":5}
///
/// The conditions are names and values in turn, so that they keep their order and are nested no
/// deeper than on the wire. `events` is `ChangeEvents.rawValue`.
extension Subscription {
  package var storedText: String {
    let form: JSONValue =
      switch kind {
      case .database: ["kind": "database"]
      case .zone(let zone): ["kind": "zone", "zone": .string(zone.text)]
      case .query(let query):
        JSONValue.object([
          JSONMember("kind", "query"),
          JSONMember("type", .string(query.recordType.text)),
          JSONMember("where", .array(query.conditions.flatMap { [.string($0.name), $0.value] })),
          JSONMember("events", .number(JSONNumber(Int64(query.events.rawValue)))),
        ]).setting("zone", to: query.zone.map { .string($0.text) })
      }
    return form.text
  }

  /// Returns nil if the text was not made by `storedText`: the store is damaged.
  package init?(id: Name, storedText: String) {
    do {
      let form = try JSONValue(parsing: storedText)
      guard let kind = Subscription.kind(of: form) else { return nil }
      self.init(id: id, kind: kind)
    } catch {
      return nil
    }
  }

  private static func kind(of form: JSONValue) -> Kind? {
    let zone = form["zone"]?.string.flatMap(Name.init)
    switch form["kind"]?.string {
    case "database": return .database
    case "zone": return zone.map(Kind.zone)
    case "query":
      guard let type = form["type"]?.string.flatMap(Name.init),
        let conditions = form["where"]?.array.flatMap(conditions),
        let events = form["events"]?.int64.flatMap({ UInt8(exactly: $0) }),
        (zone == nil) == (form["zone"] == nil)
      else { return nil }
      return .query(
        Query(
          recordType: type, zone: zone, conditions: conditions,
          events: ChangeEvents(rawValue: events)))
    default: return nil
    }
  }

  private static func conditions(_ elements: [JSONValue]) -> [JSONMember]? {
    guard elements.count.isMultiple(of: 2) else { return nil }
    let members = stride(from: 0, to: elements.count, by: 2).compactMap { index in
      elements[index].string.map { JSONMember($0, elements[index + 1]) }
    }
    return 2 * members.count == elements.count ? members : nil
  }
}

/// Stored result of a batch. A retry under the same id changes nothing and gets the same tags and
/// codes. Names and fields are not stored: a retry contains them, and its digest proves that they
/// are the same.
package struct RememberedBatch: Hashable {
  /// SHA-256 over the batch's content.
  package var digest: [UInt8]
  /// Tag of the first record that was saved; the others follow consecutively.
  package var firstTag: ChangeTag
  /// nil if all records were saved; otherwise one word per mutation, separated by commas: `saved`,
  /// `conflict` or the code of a refusal.
  package var words: String?

  /// Least space that a batch takes.
  package static let minimumUse = AccountUse(bytes: Limits.rowBytes, batches: 1)

  /// Space that the batch takes.
  package var use: AccountUse { RememberedBatch.use(words: words?.utf8.count ?? 0) }

  /// Returns the space of a batch. `words`: their length in bytes.
  package static func use(words: Int) -> AccountUse {
    AccountUse(bytes: Limits.rowBytes + Int64(words), batches: 1)
  }

  package init(digest: [UInt8], firstTag: ChangeTag, words: String?) {
    self.digest = digest
    self.firstTag = firstTag
    self.words = words
  }

  /// `newest`: the account's newest tag before the batch.
  package init(_ plan: SavePlan, after newest: ChangeTag, digest: [UInt8]) {
    let isWhole = plan.newest - newest == plan.verdicts.count
    self.init(
      digest: digest, firstTag: newest + 1,
      words: isWhole ? nil : RememberedBatch.words(of: plan.verdicts))
  }

  private static func words(of verdicts: [SavePlan.Verdict]) -> String {
    let words = verdicts.map { verdict in
      switch verdict {
      case .save: "saved"
      case .conflict: "conflict"
      case .refuse(let refusal): refusal.code.rawValue
      }
    }
    return words.joined(separator: ",")
  }

  /// Returns the original results, with conflicts as they are now. `record` returns the record or
  /// tombstone of a name. `wall`: the relay's current time, sent along with a refused timestamp.
  package func results(
    of request: SaveRequest, wall: Int64, record: (Name) throws(StorageError) -> Record?
  ) throws(StorageError) -> [MutationResult] {
    let words = words?.split(separator: ",")
    var results: [MutationResult] = []
    results.reserveCapacity(request.mutations.count)
    var tag = firstTag
    var bytesLeft = Limits.pageBytes
    for (index, mutation) in request.mutations.enumerated() {
      let name = mutation.name
      switch words.map({ index < $0.count ? $0[index] : "" }) ?? "saved" {
      case "saved":
        results.append(.saved(name: name, tag: tag))
        tag += 1
      case "conflict":
        results.append(
          try .conflict(
            at: RecordKey(zone: request.zone, name: name), bytesLeft: &bytesLeft, record: record))
      case let word:
        let code = RefusalCode(rawValue: String(word)) ?? .internalError
        results.append(
          .refused(
            name: name,
            Refusal(
              code,
              "\(code.title), as in the first answer; correct it under a new batch id.",
              relayTime: code == .clockAhead ? wall : nil)))
      }
    }
    return results
  }
}

/// Number of one opening of a store: never used twice, and greater than all earlier ones, unless
/// the relay's clock is set back by more than the time between two openings.
///
///     42 bits                                   22 bits
///     milliseconds since the Unix epoch         random
package enum OpeningNumber {
  private static let randomBits: UInt64 = 22

  /// `wall`: milliseconds since the Unix epoch. `random`: any bits.
  package static func make(wall: Int64, random: UInt64) -> UInt64 {
    UInt64(bitPattern: wall) << randomBits | random & ((1 << randomBits) - 1)
  }

  /// Returns the time at which the number was made, in milliseconds since the Unix epoch.
  package static func wall(of number: UInt64) -> Int64 { Int64(number >> randomBits) }
}
