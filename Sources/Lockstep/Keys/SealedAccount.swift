import LockstepClient
import LockstepModel
import LockstepSealing
import LockstepWire

/// The keys of a sealed account.
extension Lockstep {
  /// Six words that are the same on all devices with the account's keys, separated by spaces; nil
  /// if this device does not have the keys of a whole account. They open nothing. A person who
  /// compares them on two devices sees that these have the same keys.
  public var checkWords: String? {
    get async throws { try await heldKeys()?.current?.checkWords }
  }

  /// Returns the recovery phrase: 17 words, separated by spaces, for a person to write down.
  /// Whoever has it and the relay's store can read the account. Needs the relay, which stores a
  /// sealed record without which the phrase opens nothing.
  ///
  /// The phrase is of the keys in use: after `revoke`, show it again.
  ///
  /// - Throws: `keysMissing` if the account is not sealed, or this device has not all its keys.
  public func recoveryPhrase() async throws -> String {
    guard let keys = try await heldKeys(), let current = keys.current else {
      throw DeviceKeys.noneOfAccount
    }
    try await relayCall { call, token throws(LockstepError) in
      _ = try KeyRingRecord(call, token: token).store(keys)
    }
    return KeyPhrase.text(of: current)
  }

  /// Gives this device the account's keys, for one that joined without them: its status is
  /// `needsKeys`. What it could not read comes with the sync that follows. Needs the relay.
  ///
  /// - Parameter phrase: The words of `recoveryPhrase`; upper and lower case, and separators, have
  ///   no effect.
  /// - Throws: `invalidPhrase` if a word is misspelt, or the phrase is of other keys than those of
  ///   the account; `keysMissing` if the account is not sealed; `refused` if this device is paired
  ///   for a part of the account. Nothing was changed.
  public func restoreKeys(phrase: String) async throws {
    let generation = try KeyPhrase.parsed(phrase)
    guard scope.zones == nil else {
      throw LockstepError.refused(
        reason: "this device was paired for some zones, and the phrase opens all: restore the keys "
          + "on a device with the whole account")
    }
    let keys = try await relayCall { call, token throws(LockstepError) in
      try KeyRingRecord(call, token: token).keys(openedBy: generation)
    }
    try await adopt(keys)
  }

  /// Makes new keys for all devices but one, if this device has those of the whole account. Returns
  /// the devices that do not get them.
  func makeNewKeys(without gone: DeviceID) async throws -> [Device] {
    guard let own = engine.identity?.credentials.device, own != gone,
      try await heldKeys()?.current != nil
    else { return [] }
    // Others may have made newer keys, or joined.
    _ = try await sync()
    let home = engine.folder
    let made = try await relayCall { call, token throws(LockstepError) in
      try NewKeys.save(of: home, own, without: [gone], call, token: token)
    }
    try await adopt(made.keys)
    return made.others.map { Device($0, own: own) }
  }

  private func adopt(_ keys: SealingKeys) async throws {
    let secret = DeviceKeys.deviceSecret
    let report = try await engine.perform({
      .seal($0, keys, plain: .replaced, deviceSecret: secret)
    })
    guard case .switched(_, let result) = report else { throw LockstepError.closed }
    if case .failure(let failure) = result { throw LockstepError(failure) }
  }

  private func heldKeys() async throws -> SealingKeys? {
    guard !engine.hasEnded else { throw LockstepError.closed }
    let home = engine.folder
    return try await Self.onThread { try DeviceKeys.held(in: home).keys }
  }
}

extension KeyPhrase {
  fileprivate static func parsed(_ phrase: String) throws(LockstepError) -> KeyGeneration {
    do throws(Fault) {
      return try generation(from: phrase)
    } catch {
      throw .invalidPhrase(reason: explanation(error))
    }
  }
}
