import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepSimulation
import LockstepStorage

/// New keys of an account that a user of a device makes.
struct NewKeys {
  let rotation: KeyRotation
  let device: DeviceMachine
  /// Device that does not get them, and is removed then.
  let gone: DeviceMachine?
  /// True if the device dies before it knows that they are saved.
  let isCut: Bool
}

/// New keys that the relay has saved for the devices of an account.
struct SavedKeys {
  let all: SealingKeys
  let gone: DeviceMachine?
  /// Devices that cannot get them, because they and the author do not know each other.
  let strangers: [DeviceMachine]
}

// New keys, as `lockstep agent key rotate` and `lockstep agent revoke` make them.
extension World {
  /// Returns true if a user could begin.
  func makeKeys(
    on device: DeviceMachine, removes: Bool, isContested: Bool, isCut: Bool
  ) -> Bool {
    guard isReachable(device) else { return false }
    let others = peers(of: device).filter { !isRemoved($0) }
    // A backup from before a removal brings the removed device back.
    let mayRemove =
      removes && !profile.kinds.contains(.restoreStore)
      && !peers(of: device).contains { isRemoved($0) }
    let gone = mayRemove && !others.isEmpty ? fate.one(of: others) : nil
    beginKeys(on: device, without: gone, isCut: isCut)
    let further = others.filter { $0 !== gone && isReachable($0) }
    guard isContested, !further.isEmpty else { return true }
    let rival = fate.one(of: further)
    environment.timeline.after(Span.milliseconds(fate.number(in: 0...600))) { [unowned self] in
      beginKeys(on: rival, without: nil, isCut: false)
    }
    return true
  }

  /// Syncs the device first: others may have made newer keys, or joined.
  private func beginKeys(on device: DeviceMachine, without gone: DeviceMachine?, isCut: Bool) {
    device.sync { [unowned self, unowned device] in
      soon { [unowned self] in draftKeys(on: device, without: gone, isCut: isCut) }
    }
  }

  private func draftKeys(on device: DeviceMachine, without gone: DeviceMachine?, isCut: Bool) {
    guard isReachable(device) else { return }
    do throws(StorageError) {
      guard let save = try keys(on: device, without: gone, isCut: isCut) else { return }
      soon { [unowned self] in
        guard isReachable(device) else { return }
        relay.call(.save(save)) { [unowned self] outcome in
          guard case .success(.saved(let saved)) = outcome else { return }
          handleAnswer(to: save.request.id, saved.answer)
        }
      }
    } catch {
      environment.log(from: device.name, to: "person", .note("cannot make keys: \(error)"))
    }
  }

  /// Returns the request that saves new keys; nil if the device can make none.
  private func keys(
    on device: DeviceMachine, without gone: DeviceMachine?, isCut: Bool
  ) throws(StorageError) -> SaveCommit? {
    let credentials = device.credentials
    guard let keys = try Replica.keys(in: device.store), let current = keys.current,
      let deviceKey = try Replica.deviceKey(in: device.store),
      let rotation = KeyRotation(
        of: keys, secret: (0..<KeyGeneration.count).map { _ in fateByte() },
        by: credentials.device, deviceKey, for: try Replica.members(in: device.store),
        listed: ([device] + peers(of: device)).filter { !$0.isSignedOut }
          .map(\.credentials.device),
        without: excluded(gone))
    else { return nil }
    var ring: Record?
    if case .record(let found) = try relay.store.read(.record(credentials.account, KeyRing.key)) {
      ring = found
    }
    do throws(KeyRing.Fault) {
      if let ring { _ = try KeyRing.keys(in: ring.value, openedBy: current) }
    } catch {
      if case .otherKey(let id) = error, !keys.hasGeneration(id) {
        environment.tally.note(.keysOvertaken)
        return nil
      }
    }
    let known = try device.store.records(zone: KeyRing.zone, type: nil).map(\.name)
    let now = relay.clock.moment(at: environment.timeline.now).wall
    let mutations = rotation.records.compactMap { record -> Mutation? in
      guard record.fields != nil || known.contains(record.name) else { return nil }
      return Mutation(
        name: record.name, type: record.type, fields: record.fields?.serialized(),
        modifiedAt: now, baseTag: record.name == KeyRing.record ? ring?.tag ?? 0 : nil)
    }
    let request = SaveRequest(
      id: BatchID(random: &fate), zone: KeyRing.zone, atomic: true, mutations: mutations)
    pendingKeys[request.id] = NewKeys(
      rotation: rotation, device: device, gone: gone, isCut: isCut)
    return SaveCommit(
      account: credentials.account, device: credentials.device, request: request, digest: [])
  }

  private func excluded(_ gone: DeviceMachine?) -> [DeviceID] {
    guard let gone, breakage != .givesKeysToRemoved else { return [] }
    return [gone.credentials.device]
  }

  private func fateByte() -> UInt8 { UInt8(truncatingIfNeeded: fate.next()) }

  /// Registers new keys that the relay has just saved.
  func recordKeys(of save: SaveCommit, _ outcome: SaveOutcome) {
    guard let made = pendingKeys[save.request.id], !outcome.changed.isEmpty else { return }
    environment.tally.note(.keysSaved)
    let author = made.device.credentials.device
    let strangers = peers(of: made.device).filter { peer in
      guard peer !== made.gone, !isRemoved(peer) else { return false }
      return !made.rotation.receivers.contains(peer.credentials.device) || !knows(peer, author)
    }
    rotations[save.account, default: []].append(
      SavedKeys(all: made.rotation.all, gone: made.gone, strangers: strangers))
    if isHealed { soon { [unowned self] in finishKeys() } }
  }

  private func knows(_ device: DeviceMachine, _ other: DeviceID) -> Bool {
    do throws(StorageError) {
      return try Replica.members(in: device.store).key(of: other) != nil
    } catch {
      return false
    }
  }

  /// Handles the relay's answer: the device has the new keys, and the other one is removed.
  private func handleAnswer(to batch: BatchID, _ answer: SaveAnswer) {
    guard let made = pendingKeys[batch] else { return }
    let isSaved = answer.results.allSatisfy { if case .saved = $0 { true } else { false } }
    guard isSaved else { return environment.tally.note(.keysOvertaken) }
    let device = made.device
    guard !made.isCut else {
      device.crashNow(isMachineGone: false)
      return environment.timeline.after(Span.milliseconds(fate.number(in: 500...5_000))) {
        [unowned self] in start(device)
      }
    }
    soon { [unowned self] in
      device.order(.seal(device.nextOrderID(), made.rotation.all))
      soon { [unowned self] in
        if let gone = made.gone { remove(gone) }
      }
    }
  }

  private func remove(_ device: DeviceMachine) {
    guard !isRevoked[device.index] else { return }
    isRevoked[device.index] = true
    relay.administer(.revokeDevice(device.credentials.account, device.credentials.device))
  }

  /// Removes the devices that new keys were made without, and pairs those again that cannot get the
  /// newest ones otherwise.
  func finishKeys() {
    for account in accounts {
      let saved = rotations[account] ?? []
      for gone in saved.compactMap(\.gone) { remove(gone) }
      guard let last = saved.last else { continue }
      for device in last.strangers where !isRemoved(device) {
        environment.tally.note(.keysPaired)
        device.order(.seal(device.nextOrderID(), last.all))
      }
    }
  }

  /// Pairs devices again that say they cannot read records, every 5 s: the relay had new keys for
  /// them, and was restored from a backup without these.
  func pairUnreadingDevices(since start: Int64) {
    guard profile.rotatesKeys, profile.kinds.contains(.restoreStore),
      (environment.timeline.now - start) % Span.seconds(5) == 0
    else { return }
    for account in accounts {
      let staying = devices.filter {
        $0.credentials.account == account && !$0.isSignedOut && $0.isRunning
      }
      guard staying.contains(where: { ($0.status?.unreadableCount ?? 0) > 0 }) else { continue }
      do throws(StorageError) {
        var all: SealingKeys?
        for device in staying {
          guard let keys = try Replica.keys(in: device.store) else { continue }
          all = all?.replaced(by: keys) ?? keys
        }
        guard let all else { continue }
        for device in staying {
          environment.tally.note(.keysPaired)
          device.order(.seal(device.nextOrderID(), all))
        }
      } catch {
        environment.fault("the keys of a device cannot be read: \(error)")
      }
    }
  }

  /// Lets each device write after all have the newest keys.
  func writeWithNewKeys() {
    for device in devices where !device.isSignedOut {
      let text = Int64(2_000_000 + device.index)
      device.press(.note(device.index % profile.notes, text: text))
    }
    advance(to: environment.timeline.now + Span.seconds(1))
    converge()
  }

  private func soon(_ then: @escaping () -> Void) {
    environment.timeline.after(Span.milliseconds(fate.number(in: 0...200)), then)
  }

  private func peers(of device: DeviceMachine) -> [DeviceMachine] {
    devices.filter { $0.credentials.account == device.credentials.account && $0 !== device }
  }

  /// True if the device is signed out, or will be.
  private func isRemoved(_ device: DeviceMachine) -> Bool {
    device.isSignedOut || isRevoked[device.index]
      || (rotations[device.credentials.account] ?? []).contains { $0.gone === device }
  }

  private func isReachable(_ device: DeviceMachine) -> Bool {
    device.isRunning && device.driver?.isSuspended == false && !device.isSignedOut && relay.isUp
      && !switchedOff[device.index] && unplugged[device.index].until <= environment.timeline.now
  }
}
