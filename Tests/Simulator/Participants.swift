import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepSimulation
import LockstepStorage

/// Participants of a simulation: the devices and the user of each account, and optionally a
/// listener.
struct Participants {
  let profile: WorldProfile
  let apps: [any App]
  let span: Int64
  private(set) var devices: [DeviceMachine] = []
  private(set) var people: [People] = []
  private(set) var listeners: [ListenerMachine] = []
  private(set) var sleepers: [SleeperMachine] = []

  init(profile: WorldProfile, apps: [any App], span: Int64) {
    self.profile = profile
    self.apps = apps
    self.span = span
  }

  mutating func addAccount(
    _ account: AccountID, _ histories: Histories, _ relay: RelayMachine, _ ledger: CommitLedger,
    _ environment: WorldEnvironment, _ random: inout SeededRandom
  ) throws(StorageError) {
    let count = random.count(in: profile.devicesPerAccount)
    let numbers = Array(devices.count..<(devices.count + count))
    let others = (profile.hasListeners ? 1 : 0) + (profile.hasSleepers ? 1 : 0)
    // Every fourth listener has a scope.
    let isScoped = profile.hasListeners && account.rawValue.isMultiple(of: 4)
    var credentials = try join(
      account, devices: count + others, scoped: isScoped ? count : nil, relay, &random)
    if profile.hasSleepers {
      sleepers.append(
        SleeperMachine(
          number: sleepers.count, credentials: credentials.removeLast(), environment: environment,
          ledger: ledger, clock: clock(&random), random: random.branch()))
    }
    if profile.hasListeners {
      let subscribed = random.one(of: ListenerMachine.Watched.subscriptions)
      listeners.append(
        ListenerMachine(
          number: listeners.count, credentials: credentials.removeLast(),
          watched: isScoped ? .scopeOfNotes : subscribed, environment: environment,
          ledger: ledger, clock: clock(&random)))
    }
    let sealKeys = sealKeys(&random)
    if let sealKeys { ledger.lens.add(sealKeys, profile.sealedZones, of: account) }
    try prefill(account, credentials[0].device, sealKeys, relay, &random)
    let sealedFiles = try prefillSealed(account, credentials[0].device, relay, &random)
    for (index, credential) in zip(numbers, credentials) {
      let watch = ReplicaWatch(
        environment: environment, ledger: ledger, name: "device\(index)", account: account,
        device: credential.device, histories: histories, mayLoseCursor: profile.mayLoseCursor)
      devices.append(
        try DeviceMachine(
          index: index, credentials: credential, environment: environment, watch: watch,
          clock: clock(&random), configuration: agent(&random), apps: apps,
          random: random.branch(), sealKeys: sealKeys, hasOwnKey: profile.rotatesKeys))
      if let sealedFiles, let device = devices.last {
        device.sealedFiles = sealedFiles
        device.writesJournal = index == numbers.first
        if index != numbers.last {
          device.vaultKeeper = VaultKeeper(sealedFiles, device: device.name)
        }
      }
    }
    people.append(
      People(
        random: &random, devices: numbers, count: random.count(in: profile.actsPerAccount),
        span: span, workload))
  }

  private func clock(_ random: inout SeededRandom) -> VirtualClock {
    VirtualClock(
      start: random.number(in: 0...Span.seconds(1_000_000)),
      driftPartsPerMillion: random.number(in: -200...200),
      offsetMilliseconds: random.number(in: profile.clockOffset))
  }

  private func agent(_ random: inout SeededRandom) -> AgentConfiguration {
    var configuration = AgentConfiguration()
    switch random.count(in: 0...9) {
    case 0: configuration.transports = [.poll]
    case 1: configuration.transports = [.longPoll, .poll]
    case 2: configuration.transports = [.longPoll]
    case 3: configuration.transports = [.webSocket]
    case 4: configuration.transports = [.events]
    default: break
    }
    if profile.hasChunks {
      configuration.chunkKeepMilliseconds = profile.chunkLeaseMilliseconds
      configuration.chunkCleanupMilliseconds = 5_000
    }
    return configuration
  }

  /// Creates an account with its devices, as if they had joined before the simulation began.
  /// `scoped`: index of the device that is paired for the listener's scope.
  private func join(
    _ account: AccountID, devices: Int, scoped: Int?, _ relay: RelayMachine,
    _ random: inout SeededRandom
  ) throws(StorageError) -> [Credentials] {
    let wall = relay.clock.moment(at: 0).wall
    var credentials: [Credentials] = []
    for index in 0..<devices {
      let token = "token-\(HexText.text(random.next()))"
      let id = DeviceID(rawValue: random.next())
      let device = NewDevice(
        id: id,
        description: DeviceDescription(
          deviceName: "device \(index)", platform: "simulated", appVersion: "1"),
        tokenHash: SHA256.hash(Array(token.utf8)))
      credentials.append(Credentials(account: account, device: id, token: token))
      if index == 0 {
        _ = try relay.store.commit(
          [
            .createAccount(
              account, generation: UInt32(truncatingIfNeeded: random.next()),
              label: "simulated \(account.text)", device: device, pairing: nil)
          ], wall: wall)
      } else {
        let code = SHA256.hash(Array("code \(index)".utf8) + device.tokenHash)
        _ = try relay.store.commit(
          [
            .issuePairing(
              account,
              NewPairing(
                codeHash: code, expiresAt: wall + 1_000,
                scope: index == scoped ? ListenerMachine.scope : .everything)),
            .redeemPairing(codeHash: code, device: device),
          ], wall: wall)
      }
    }
    return credentials
  }

  /// Draws an account's keys. Returns those of the sealed zones; nil if there are none.
  private func sealKeys(_ random: inout SeededRandom) -> SealingKeys? {
    guard !profile.sealedZones.isEmpty else { return nil }
    var secrets: [[UInt8]] = []
    for _ in 0..<2 {
      secrets.append(
        (0..<KeyGeneration.count).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    }
    let keys = KeyGeneration(secret: secrets[1]).flatMap {
      AccountKeys(nameSecret: secrets[0], generations: [$0])
    }
    return keys.map { keys in
      profile.sealsAccount
        ? .account(keys, .all(but: [VaultApp.zone, KeyRing.zone]))
        : .zones(profile.sealedZones.map { keys.keys(of: $0) })
    }
  }

  private var workload: People.Workload {
    var workload = People.Workload()
    workload.apps = profile.apps
    workload.notes = profile.notes
    workload.hasChunks = profile.hasChunks
    workload.hasKeylessDevice = profile.hasKeylessDevice
    return workload
  }

  /// Saves the sealed files that the account has from the start; returns nil if it has none.
  private func prefillSealed(
    _ account: AccountID, _ device: DeviceID, _ relay: RelayMachine,
    _ random: inout SeededRandom
  ) throws(StorageError) -> SealedFiles? {
    guard profile.hasKeylessDevice else { return nil }
    let bytes = (0..<VaultKey.count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    guard let sealedFiles = SealedFiles(keyBytes: bytes) else { return nil }
    let yesterday = relay.clock.moment(at: 0).wall - 86_400_000
    let mutations = SealedFiles.names.compactMap { file -> Mutation? in
      guard let name = sealedFiles.key(file)?.name,
        let fields = sealedFiles.sealed(file, "the first of \(file)")
      else { return nil }
      return Mutation(
        name: name, type: VaultApp.fileType, fields: fields.serialized(), modifiedAt: yesterday,
        baseTag: 0)
    }
    let request = SaveRequest(
      id: BatchID(random: &random), zone: VaultApp.zone, atomic: false, mutations: mutations)
    try relay.store.prefill(
      SaveCommit(account: account, device: device, request: request, digest: []),
      wall: yesterday + 86_400_000)
    return sealedFiles
  }

  /// Saves the records that the account has from the start: notes, clipboard items, timer settings.
  private func prefill(
    _ account: AccountID, _ device: DeviceID, _ keys: SealingKeys?, _ relay: RelayMachine,
    _ random: inout SeededRandom
  ) throws(StorageError) {
    let yesterday = relay.clock.moment(at: 0).wall - 86_400_000
    func first(_ zone: Name, _ name: Name, _ type: Name, _ fields: [UInt8], at time: Int64)
      -> Mutation
    {
      let record = Record(
        zone: zone, name: name, type: type, fields: fields, modifiedAt: time, device: device,
        tag: 0)
      let version = RecordVersion(
        VersionID(writer: WriterID(rawValue: 1), number: 1), madeOn: VersionVector())
      var stored = record
      if let keys = keys?.keys(of: zone), let version {
        stored = ZoneSeal(keys).sealed(record, version: version)
      }
      return Mutation(
        name: stored.name, type: stored.type, fields: stored.fields, modifiedAt: time, baseTag: 0)
    }
    let notes = (0..<profile.notes).map { number in
      first(
        NotesApp.zone, NotesApp.key(number).name, NotesApp.type, NotesApp.firstText(),
        at: yesterday)
    }
    let items = (0..<profile.clipboardItems).map { number in
      first(
        ClipboardApp.zone, Name(trusted: "old item \(number)"), ClipboardApp.itemType,
        Array("{\"content\":\"old \(number)\"}".utf8), at: yesterday + Int64(number))
    }
    let breaks: JSONValue = ["shortBreakMinutes": .number(JSONNumber("0.1") ?? JSONNumber(1))]
    let settings = first(
      TimerApp.zone, TimerApp.settingsKey.name, TimerApp.settingsType, breaks.serialized(),
      at: yesterday)
    let all = [
      (NotesApp.zone, notes), (ClipboardApp.zone, items),
      (TimerApp.zone, profile.hasShortBreaks ? [settings] : []),
    ]
    for (zone, mutations) in all {
      for first in stride(from: 0, to: mutations.count, by: Limits.batchRecords) {
        let last = min(mutations.count, first + Limits.batchRecords)
        let request = SaveRequest(
          id: BatchID(random: &random), zone: zone, atomic: false,
          mutations: Array(mutations[first..<last]))
        try relay.store.prefill(
          SaveCommit(account: account, device: device, request: request, digest: []),
          wall: yesterday + 86_400_000)
      }
    }
  }
}
