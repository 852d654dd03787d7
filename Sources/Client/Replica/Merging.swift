import LockstepModel
import LockstepStorage

/// Asks the apps' rules what becomes of a conflict. Where no app knows the record's type, the newer
/// version stands, and a change outlives a delete: such an edit was made by another version of the
/// program, which knew it.
struct Merging: Sendable {
  let apps: [any App]
  let device: DeviceID

  /// `local` and what it was made on, against the relay's version.
  func resolve(_ local: OutboxEntry, _ server: Record) -> Resolution {
    let type = local.fields == nil ? server.type : local.type
    guard let resolver = resolver(zone: local.key.zone, type: type),
      let conflict = conflict(local, server)
    else { return newer(local, server) }
    return resolve(conflict, by: resolver, madeByTime: local.timeMade.flatMap { version($0) })
  }

  /// Whether the local change says the same as the relay's version, later, and by the app's rule
  /// the record must tell of it (see `Resolver.takesNewestStamp`).
  func isLaterSame(_ local: OutboxEntry, _ server: Record) -> Bool {
    guard server.tag > 0, local.modifiedAt > server.modifiedAt,
      Merging.equal(local.fields, server.fields)
    else { return false }
    let type = local.fields == nil ? server.type : local.type
    return resolver(zone: local.key.zone, type: type)?.takesNewestStamp ?? false
  }

  /// The same where the relay has lost `base`, on which the local change was made, and has by now
  /// what somebody saved who may not have known it. Two steps again: the lost version comes back
  /// first, by the rule for two that know nothing of one another, and what came of that meets the
  /// change that was made on it. A value that the change did not touch gives way to a newer one.
  func resolve(_ local: OutboxEntry, madeOn base: Record, _ server: Record) -> Resolution {
    var back = local
    (back.fields, back.modifiedAt, back.type) = (base.fields, base.modifiedAt, base.type)
    back.timeMade = nil
    back.base = nil
    var entry = local
    guard case .merged(let fields, let copies) = resolve(back, server) else {
      entry.base = nil
      return resolve(entry, server)
    }
    var met = server
    met.fields = fields?.serialized()
    met.modifiedAt = max(base.modifiedAt, server.modifiedAt)
    entry.base = base
    guard case .merged(let outcome, let further) = resolve(entry, met) else { return .ask }
    // What the first step kept of the lost version is what the change was made of.
    let isServersKept = base.modifiedAt > server.modifiedAt
    return .merged(fields: outcome, copies: (isServersKept ? copies : []) + further)
  }

  /// What time made (a countdown that ended) other devices made too, and may have saved: then the
  /// relay's version holds an edit that `base` lacks and that the local change was yet made on. So
  /// two steps are taken, as if each had been saved by itself: first what time made of the base
  /// meets the relay's version, then the change, made on that, meets what came of it.
  private func resolve(_ conflict: Conflict, by resolver: any Resolver, madeByTime: Version?)
    -> Resolution
  {
    guard let made = madeByTime,
      case .merged(let fields, _) = resolver.resolve(
        Conflict(base: conflict.base, local: made, server: conflict.server))
    else { return resolver.resolve(conflict) }
    var server = conflict.server
    server.fields = fields
    return resolver.resolve(Conflict(base: made, local: conflict.local, server: server))
  }

  /// What time will make of a record.
  func dueEdit(for record: Record) -> DueEdit? {
    guard !record.isDeleted else { return nil }
    for app in apps where app.zone == record.zone && app.timedTypes.contains(record.type) {
      if let due = app.dueEdit(for: record) { return due }
    }
    return nil
  }

  /// The fields of an entry whose stamp moves from `from` to `to`.
  func restamped(_ entry: OutboxEntry, to: Int64) -> [UInt8]? {
    guard let bytes = entry.fields, let fields = Merging.value(bytes),
      let app = app(of: entry.type, zone: entry.key.zone)
    else { return entry.fields }
    let moved = app.restamped(
      fields, of: entry.type, base: entry.base?.fields.flatMap { Merging.value($0) },
      from: entry.modifiedAt, to: to)
    return moved == fields ? bytes : moved.serialized()
  }

  /// The chunks that a record's fields name; nil where no app knows its type.
  func chunks(in fields: [UInt8], of type: Name, zone: Name) -> [ChunkHash]? {
    guard let app = app(of: type, zone: zone), let value = Merging.value(fields)
    else { return nil }
    var seen: Set<ChunkHash> = []
    return app.chunks(in: value, of: type).filter { seen.insert($0).inserted }
  }

  /// Equal as JSON.
  static func equal(_ left: [UInt8]?, _ right: [UInt8]?) -> Bool {
    guard let left, let right else { return left == nil && right == nil }
    if left == right { return true }
    guard let leftValue = value(left), let rightValue = value(right) else { return false }
    return leftValue == rightValue
  }

  static func value(_ bytes: [UInt8]) -> JSONValue? {
    JSONValue(ifJSON: bytes)
  }

  private func resolver(zone: Name, type: Name) -> (any Resolver)? {
    app(of: type, zone: zone)?.resolver(for: type)
  }

  /// The app that knows the type.
  private func app(of type: Name, zone: Name) -> (any App)? {
    apps.first { $0.zone == zone && $0.resolver(for: type) != nil }
  }

  /// nil where the fields of one of them are no JSON.
  private func conflict(_ local: OutboxEntry, _ server: Record) -> Conflict? {
    guard let localVersion = version(local.record(by: device, tag: 0)),
      let serverVersion = version(server)
    else { return nil }
    // A base of tag 0 says that there was nothing.
    let base = local.base.flatMap { $0.tag == 0 && $0.isDeleted ? nil : version($0) }
    return Conflict(base: base, local: localVersion, server: serverVersion)
  }

  private func version(_ record: Record) -> Version? {
    var fields: JSONValue?
    if let bytes = record.fields {
      guard let value = Merging.value(bytes) else { return nil }
      fields = value
    }
    return Version(
      name: record.name.text, fields: fields, modifiedAt: record.modifiedAt,
      device: record.device.text)
  }

  private func newer(_ local: OutboxEntry, _ server: Record) -> Resolution {
    let localWins =
      if (local.fields == nil) != server.isDeleted {
        local.fields != nil
      } else {
        (local.modifiedAt, device) > (server.modifiedAt, server.device)
      }
    let bytes = localWins ? local.fields : server.fields
    guard let bytes else { return .merged(fields: nil, copies: []) }
    guard let value = Merging.value(bytes) else { return .ask }
    return .merged(fields: value, copies: [])
  }
}
