import LockstepClient
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepWire

/// The relay's record of an account's keys (`KeyRing`). Requests bypass the outbox, because the
/// caller needs the result at once.
package struct KeyRingRecord {
  private let call: RelayClient
  private let token: String

  package init(_ call: RelayClient, token: String) {
    self.call = call
    self.token = token
  }

  /// The home may be saving the record at the same time.
  private static let attemptsMax = 5

  /// Makes the record contain these keys. Without it, a phrase does not open the account. Returns
  /// them with all zones that the record seals then.
  @discardableResult
  package func store(_ keys: SealingKeys) throws(LockstepError) -> SealingKeys {
    for _ in 0..<Self.attemptsMax {
      let held = try call.record(KeyRing.record, zone: KeyRing.zone, token: token)
      let all = try joined(keys, held)
      guard let fields = KeyRing.fields(of: all) else {
        throw .keysMissing(
          reason: localized(
            "this device has the keys of some zones, and not those of the "
              + "account; use one that has the whole account"))
      }
      if held?.value == fields { return all }
      let mutation = Mutation(
        name: KeyRing.record, type: KeyRing.type, fields: fields.serialized(),
        modifiedAt: try call.time(), baseTag: held?.tag ?? 0)
      switch try call.save([mutation], zone: KeyRing.zone, token: token).first {
      case .saved: return all
      case .refused(_, let refusal): throw .refused(reason: refusal.detail)
      case .conflict, nil: continue
      }
    }
    throw .refused(
      reason: localized("another device has just changed the record of the keys; try again"))
  }

  /// Returns the keys with all zones that the record seals.
  private func joined(_ keys: SealingKeys, _ held: Record?) throws(LockstepError) -> SealingKeys {
    guard let held, let generation = keys.current else { return keys }
    do throws(KeyRing.Fault) {
      let known = try KeyRing.keys(in: held.value, openedBy: generation)
      return keys.sealing(known.sealed ?? .empty)
    } catch {
      // It is replaced if a former key of this device made it.
      if case .otherKey(let id) = error, !keys.hasGeneration(id) { throw Self.isOfOthers }
      return keys
    }
  }

  private static var isOfOthers: LockstepError {
    .keysMissing(
      reason: localized(
        "the account has keys that this device does not have: another device has "
          + "made them; sync, or pair this device again with a code of that one"))
  }

  /// Returns the account's keys, of which a phrase gave the generation that seals.
  package func keys(openedBy generation: KeyGeneration) throws(LockstepError) -> SealingKeys {
    let record = try call.record(KeyRing.record, zone: KeyRing.zone, token: token)
    guard let record else {
      throw .keysMissing(
        reason: localized(
          "the relay has no record of this account's keys: the account is not "
            + "sealed, or its phrase was never printed; pair this device again with "
            + "a code of one that has the keys"))
    }
    do throws(KeyRing.Fault) {
      return try KeyRing.keys(in: record.value, openedBy: generation)
    } catch {
      switch error {
      case .otherKey(let id):
        throw .invalidPhrase(
          reason: localized(
            "that phrase is of key {key}, and the account's is {other}: it is "
              + "the phrase of another account, or of a key that was replaced since; "
              + "nothing was changed", ["key": generation.id, "other": id]))
      case .malformed:
        throw .keysMissing(
          reason: localized(
            "the record of the account's keys cannot be read: somebody has "
              + "changed it at the relay; pair this device again with a code of one "
              + "that has the keys"))
      }
    }
  }
}
