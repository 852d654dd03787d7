import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage

/// Resolves conflicts by the apps' rules. If no app knows the record's type, the newer version
/// wins, and a change wins over a delete: such an edit was made by another version of the program,
/// which knew the type.
struct Merging: Sendable {
  let apps: [any App]
  let device: DeviceID

  /// Resolves `local`, with its base, against the relay's version.
  func resolve(_ local: OutboxEntry, _ server: Record) -> Resolution {
    // A device that has not read the newest keys must not put back former ones.
    if local.key.zone == KeyRing.zone, !server.isDeleted { return Merging.kept(server.fields) }
    let type = local.fields == nil ? server.type : local.type
    guard let resolver = resolver(zone: local.key.zone, type: type),
      let conflict = conflict(local, server)
    else { return newer(local, server) }
    let resolution = resolve(
      conflict, by: resolver, madeByTime: local.timeMade.flatMap { version($0) })
    // The change outlives a delete, and the record then has the later of the two times.
    if server.isDeleted, case .merged(let fields?, let copies) = resolution,
      fields == conflict.local.fields, let rules = rules(for: type, zone: local.key.zone)
    {
      return .merged(fields: rules.explicit(conflict.local), copies: copies)
    }
    return resolution
  }

  /// True if the local change has the content of the relay's version and a later stamp, and the
  /// app's rule requires that the record shows the later stamp
  /// (see `Resolver.isLastWriterWins`).
  func isLaterSame(_ local: OutboxEntry, _ server: Record) -> Bool {
    guard server.tag > 0, local.modifiedAt > server.modifiedAt,
      Merging.equal(local.fields, server.fields)
    else { return false }
    let type = local.fields == nil ? server.type : local.type
    return resolver(zone: local.key.zone, type: type)?.isLastWriterWins ?? false
  }

  /// Resolves a conflict if the relay has lost `base`, on which the local change was made, and now
  /// has a version whose author may not have known it. Takes two steps: first the lost version is
  /// merged with the relay's, by the rule for two independent versions; then the change is merged
  /// with the result. A value that the change did not touch gives way to a newer one.
  func resolve(_ local: OutboxEntry, madeOn base: Record, _ server: Record) -> Resolution {
    var lostChange = local
    (lostChange.fields, lostChange.modifiedAt, lostChange.type) = (
      base.fields, base.modifiedAt, base.type
    )
    lostChange.timeMade = nil
    lostChange.base = nil
    var entry = local
    guard case .merged(let fields, let copies) = resolve(lostChange, server) else {
      entry.base = nil
      return resolve(entry, server)
    }
    var mergedServer = server
    mergedServer.fields = fields?.serialized()
    // Where nothing is left of the relay's version, its time must not win over the change.
    mergedServer.modifiedAt =
      Merging.equal(mergedServer.fields, base.fields)
      ? base.modifiedAt : max(base.modifiedAt, server.modifiedAt)
    // A copy of the lost version is not needed if the change, which was made on it, replaces it.
    let keepsServerCopies = base.modifiedAt > server.modifiedAt
    if Merging.equal(mergedServer.fields, base.fields), mergedServer.type == base.type {
      // The change was made on that merge: nothing is in conflict with it.
      let own = local.fields.flatMap { Merging.value($0) }
      return .merged(fields: own, copies: keepsServerCopies ? copies : [])
    }
    entry.base = base
    guard case .merged(let outcome, let further) = resolve(entry, mergedServer) else { return .ask }
    let needed = copies.filter {
      keepsServerCopies
        || (has(entry.fields, $0, entry, server)
          && !has(outcome?.serialized(), $0, entry, server))
    }
    return .merged(fields: outcome, copies: needed + further)
  }

  /// True if these fields have what the copy keeps: the rule makes no copy of either of them. A
  /// copy of a lost version is needed if the change has it, and the merge does not; what the change
  /// has replaced needs none.
  private func has(
    _ fields: [UInt8]?, _ copy: Resolution.Copy, _ local: OutboxEntry, _ server: Record
  ) -> Bool {
    guard fields != nil else { return false }
    var (entry, kept) = (local, server)
    (entry.fields, entry.timeMade, entry.base) = (fields, nil, nil)
    kept.fields = copy.fields.serialized()
    guard case .merged(_, let copies) = resolve(entry, kept) else { return false }
    return copies.isEmpty
  }

  /// Resolves a conflict with due edits (a countdown that ended). Other devices made the same edit,
  /// and may have saved it: then the relay's version holds an edit that `base` lacks but that the
  /// local change was made on. So the rule is applied in two steps, as if each had been saved
  /// separately: first the due edit of the base is merged with the relay's version, then the
  /// change, made on that edit, with the result.
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

  /// Returns the due edit of a record, if it has one.
  func dueEdit(for record: Record) -> DueEdit? {
    guard !record.isDeleted else { return nil }
    for app in apps where app.zone == record.zone && app.timedTypes.contains(record.type) {
      if let due = app.dueEdit(for: record) { return due }
    }
    return nil
  }

  /// Returns the fields of an entry after its stamp moves to `to`.
  func restamped(_ entry: OutboxEntry, to: Int64) -> [UInt8]? {
    guard let bytes = entry.fields, let fields = Merging.value(bytes),
      let app = app(of: entry.type, zone: entry.key.zone)
    else { return entry.fields }
    var moved = app.restamped(
      fields, of: entry.type, base: entry.base?.fields.flatMap { Merging.value($0) },
      from: entry.modifiedAt, to: to)
    if let rules = app.rules(for: entry.type) {
      moved = rules.restamped(
        moved, over: entry.base.flatMap { version($0) }, from: entry.modifiedAt, to: to)
    }
    return moved == fields ? bytes : moved.serialized()
  }

  /// Returns the fields of a local edit with their stamps, if the type's rules are a table.
  ///
  /// - Parameter held: The record as the device holds it, also as a tombstone.
  func stamped(
    _ fields: JSONValue, of type: Name, over held: Record?, in zone: Name, _ edit: EditContext
  )
    -> JSONValue
  {
    guard let rules = rules(for: type, zone: zone) else { return fields }
    return rules.stamped(
      fields, over: held.flatMap { version($0) },
      at: Stamp(time: edit.stamp, device: edit.device.text))
  }

  /// Returns the fields of a change that a person chose in the place of `other`, with their stamps,
  /// if the type's rules are a table. Without them, other devices would take it for a version of
  /// another program.
  func chosen(_ entry: OutboxEntry, over other: Record) -> [UInt8]? {
    guard let bytes = entry.fields, let fields = Merging.value(bytes),
      let rules = rules(for: entry.type, zone: entry.key.zone), let other = version(other)
    else { return entry.fields }
    let stamp = Stamp(time: entry.modifiedAt, device: device.text)
    return rules.chosen(fields, over: other, at: stamp).serialized()
  }

  /// Returns the fields of an entry with one device's stamps and counts as those of another.
  func renamed(_ device: DeviceID, to other: DeviceID, in entry: OutboxEntry) -> [UInt8]? {
    guard let bytes = entry.fields, let fields = Merging.value(bytes),
      let rules = rules(for: entry.type, zone: entry.key.zone)
    else { return entry.fields }
    return rules.renamed(device.text, to: other.text, in: fields).serialized()
  }

  /// Returns a version of the relay with the stamps that it lacks, by comparison with the version
  /// that it replaces: another program wrote it.
  func completed(_ server: Record, over replaced: Record) -> Record {
    guard !server.isDeleted, !replaced.isDeleted,
      let rules = rules(for: server.type, zone: server.zone), replaced.type == server.type,
      let new = version(server), let known = version(replaced),
      let fields = rules.completed(new, over: known), fields != new.fields
    else { return server }
    var completed = server
    let isSame =
      new.modifiedAt == known.modifiedAt
      && new.fields.map { Stamps.removed(from: $0) }
        == known.fields.map { Stamps.removed(from: $0) }
    // The same version under a later tag keeps the stamps that this device has given it, or has
    // none as before: after a restore of the relay, another device may have saved it again.
    completed.fields = isSame ? replaced.fields : fields.serialized()
    return completed
  }

  /// The newest stamp in a record, its own included, milliseconds.
  func newestStamp(in record: Record) -> Int64 {
    guard let rules = rules(for: record.type, zone: record.zone), let version = version(record)
    else { return record.modifiedAt }
    return rules.newestStamp(in: version).time
  }

  func rules(for type: Name, zone: Name) -> MergeRules? {
    app(of: type, zone: zone)?.rules(for: type)
  }

  /// Returns the chunks that a record's fields name; nil if no app knows its type.
  func chunks(in fields: [UInt8], of type: Name, zone: Name) -> [ChunkHash]? {
    guard let app = app(of: type, zone: zone), let value = Merging.value(fields)
    else { return nil }
    var seen: Set<ChunkHash> = []
    return app.chunks(in: value, of: type).filter { seen.insert($0).inserted }
  }

  /// Returns the chunks that a record's fields name, and that must not leave the device in a
  /// sealed zone.
  func unsealedChunks(in fields: JSONValue, of type: Name, zone: Name) -> [ChunkHash] {
    if let app = app(of: type, zone: zone) {
      return app.unsealedChunks(in: fields, of: type, zone: zone)
    }
    return FileReference.chunks(
      FileReference.chunks(in: fields), in: fields, notSealedIn: zone)
  }

  /// Compares as JSON.
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

  /// Returns the app that knows the type.
  private func app(of type: Name, zone: Name) -> (any App)? {
    apps.first { $0.zone == zone && $0.resolver(for: type) != nil }
  }

  /// Returns nil if the fields of either version are not JSON.
  private func conflict(_ local: OutboxEntry, _ server: Record) -> Conflict? {
    guard let localVersion = version(local.record(by: device, tag: 0)),
      let serverVersion = version(server)
    else { return nil }
    // A base of tag 0 means that there was no record.
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
    return Merging.kept(localWins ? local.fields : server.fields)
  }

  /// Returns the resolution that keeps these fields as they are; asks a person if they are not
  /// JSON.
  static func kept(_ fields: [UInt8]?) -> Resolution {
    guard let fields else { return .merged(fields: nil, copies: []) }
    guard let value = value(fields) else { return .ask }
    return .merged(fields: value, copies: [])
  }
}
