import LockstepModel

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
