import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepWire

/// The relay's records about the vault's key: the id of the key, and wrapped keys for other
/// devices. Requests bypass the outbox, because the caller needs the result at once.
package struct VaultRecords {
  private let call: RelayCall
  private let token: String

  package init(_ member: HomeAccess) {
    call = member.call
    token = member.token
  }

  /// Returns the id of the account's key, or nil if it has none yet.
  package func keyID() throws(CommandFailure) -> String? {
    guard let record = try call.record(VaultApp.keyRecord, zone: VaultApp.zone, token: token)
    else { return nil }
    return try Self.id(in: record)
  }

  /// Declares the account's key, if it has none yet. Returns the id that is valid then: this key's,
  /// or that of another device that was first.
  package func announce(_ key: VaultKey) throws(CommandFailure) -> String {
    if let current = try keyID() { return current }
    let fields: JSONValue = ["key": .string(key.id)]
    let mutation = Mutation(
      name: VaultApp.keyRecord, type: VaultApp.keyType, fields: fields.serialized(),
      modifiedAt: try call.time(), baseTag: 0)
    switch try call.save([mutation], zone: VaultApp.zone, token: token).first {
    case .saved: return key.id
    case .conflict(_, let record): return try Self.id(in: record)
    case .refused(_, let refusal): throw CommandFailure(refusal.text)
    case nil:
      throw CommandFailure(
        localized("the relay did not say whether the key was made; try again"))
    }
  }

  /// Declares that this key is the account's from now on, in place of the one that the record names
  /// now: `id`, or `unreadable`.
  package func replace(_ id: String, by key: VaultKey) throws(CommandFailure) {
    let record = try call.record(VaultApp.keyRecord, zone: VaultApp.zone, token: token)
    guard let record else {
      throw CommandFailure(
        localized("the account's vault has no key; lockstep vault add makes one"))
    }
    let current = record.value?["key"]?.string ?? Self.unreadable
    guard current == id else {
      throw CommandFailure(
        localized(
          "the key of the account's vault is {current}, and not {key}",
          ["current": current, "key": id]))
    }
    let fields: JSONValue = ["key": .string(key.id)]
    let mutation = Mutation(
      name: VaultApp.keyRecord, type: VaultApp.keyType, fields: fields.serialized(),
      modifiedAt: try call.time(), baseTag: record.tag)
    switch try call.save([mutation], zone: VaultApp.zone, token: token).first {
    case .saved: return
    case .refused(_, let refusal): throw CommandFailure(refusal.text)
    case .conflict, nil:
      throw CommandFailure(
        localized("another device has just changed the vault's key; look again"))
    }
  }

  /// Value used instead of the id of a record that contains none.
  package static let unreadable = "unreadable"

  /// Returns the wrapped key for the holder of a code, or nil if there is none.
  package func wrapped(_ name: Name) throws(CommandFailure) -> WrappedVaultKey? {
    guard let record = try call.record(name, zone: VaultApp.zone, token: token) else { return nil }
    guard let fields = record.value, let wrapped = WrappedVaultKey(fields: fields) else {
      throw CommandFailure(
        localized(
          "what waits under that code is no vault's key; make a new code with lockstep agent pair"))
    }
    return wrapped
  }

  /// Stores a wrapped key. `expired`: other useless records, removed with the same save.
  package func store(_ wrapped: WrappedVaultKey, as name: Name, removing expired: [Name])
    throws(CommandFailure)
  {
    let now = try call.time()
    let mutation = Mutation(
      name: name, type: VaultApp.keyType, fields: wrapped.fields.serialized(), modifiedAt: now,
      baseTag: 0)
    let results = try call.save(
      [mutation] + expired.filter { $0 != name }.map { Self.delete($0, now) },
      zone: VaultApp.zone, token: token)
    switch results.first {
    case .saved: return
    case .refused(_, let refusal): throw CommandFailure(refusal.text)
    case .conflict, nil:
      throw CommandFailure(localized("another key waits under that code; make a new one"))
    }
  }

  /// Removes a wrapped key that is no longer needed.
  package func remove(_ name: Name) throws(CommandFailure) {
    _ = try call.save([Self.delete(name, try call.time())], zone: VaultApp.zone, token: token)
  }

  /// Returns the relay time, in milliseconds since the Unix epoch.
  package func time() throws(CommandFailure) -> Int64 { try call.time() }

  private static func delete(_ name: Name, _ now: Int64) -> Mutation {
    Mutation(name: name, type: VaultApp.keyType, fields: nil, modifiedAt: now, baseTag: nil)
  }

  private static func id(in record: Record) throws(CommandFailure) -> String {
    guard let id = record.value?["key"]?.string else {
      throw CommandFailure(
        localized(
          "the account's record of its vault's key cannot be read; another program wrote it: "
            + "{advice}", ["advice": VaultKeys.replaceAdvice(of: unreadable)]))
    }
    return id
  }
}
