import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepStorageSQLite
import LockstepWebPush

/// Measures wakes on a relay of its own, with a push service on loopback.
struct WakeBench {
  let plan: WakePlan
  let progress: Progress
  private let waiting: BenchWait
  private let folder: ScratchFolder

  init(plan: WakePlan, progress: Progress) throws(CommandFailure) {
    self.plan = plan
    self.progress = progress
    waiting = try BenchWait(pauseMilliseconds: 5)
    folder = try ScratchFolder()
    OpenFiles.raiseLimit()
  }

  func run() throws(CommandFailure) -> WakeBenchTable {
    defer {
      progress.clear()
      folder.remove()
    }
    let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
    let server = try CommandFailure.wrap { () throws(CertificateFault) in
      try ServerCertificate.writeSelfSigned(
        names: "IP:127.0.0.1", certificate: certificate, key: key)
      return try ServerCertificate(certificate: certificate, key: key)
    }
    // Each run opens it again, at this port.
    let port = try WakeBench.port(of: try WakeBench.listener(at: 0, server))
    progress.show("making \(2 * plan.devices) accounts")
    let accounts = WakeAccounts(count: plan.devices, port: port)
    let relay = try ChildRelay(
      ["--wake-allow", "127.0.0.1:\(port)"],
      environment: [("SSL_CERT_FILE", certificate)]
    ) { store throws(CommandFailure) in try accounts.store(in: store) }
    defer { relay.stop() }
    return try measure(accounts, relay) { () throws(CommandFailure) in
      try WakeBench.listener(at: port, server)
    }
  }

  /// Opens the push service's listener; port 0: at a free port.
  private static func listener(
    at port: UInt16, _ certificate: ServerCertificate
  ) throws(CommandFailure) -> Listener {
    try CommandFailure.wrap { () throws(ListenFault) in
      try Listener.open(
        .host("127.0.0.1", port: port), listenerKind: .public, certificate: certificate)[0]
    }
  }

  private static func port(of listener: Listener) throws(CommandFailure) -> UInt16 {
    guard case .host(_, let port) = listener.address else {
      throw CommandFailure("the push service has no port")
    }
    return port
  }

  /// `service`: opens the push service's listener.
  private func measure(
    _ accounts: WakeAccounts, _ relay: ChildRelay,
    _ service: @escaping () throws(CommandFailure) -> Listener
  ) throws(CommandFailure) -> WakeBenchTable {
    var table = WakeBenchTable(plan: plan)
    let bench = { (members: [WakeMember], way: WakeWay, rate: Int) throws(CommandFailure) in
      try LoadThread(
        WakeLoadNode(
          members, by: way, rate: rate, to: relay.address, key: accounts.key, auth: accounts.auth,
          random: Entropy.seededRandom()),
        listeners: [try service()], waiting
      ).run(waiting)
    }
    progress.show("\(plan.rate) changes a second to devices with a socket")
    table.connected = try bench(accounts.awake, .socket, plan.rate)
    table.memoryBefore = ProcessMemory.resident(relay.process)
    progress.show("\(plan.rate) changes a second to devices that sleep")
    table.woken = try bench(accounts.sleeping, .wake, plan.rate)
    // A device may be woken again once it has been away for a moment.
    try waiting.pause(milliseconds: Limits.wakeDelayMilliseconds + 2_000)
    ProcessMemory.resetPeak(relay.process)
    progress.show("all changes at once, to devices that sleep")
    (table.flood, table.floodProcessor) = try counting(relay) { () throws(CommandFailure) in
      try bench(try accounts.newest(of: accounts.sleeping, at: relay.address), .wake, 0)
    }
    table.memoryPeak = ProcessMemory.peak(relay.process)
    progress.show("all changes at once, to devices that are not woken")
    (table.quiet, table.quietProcessor) = try counting(relay) { () throws(CommandFailure) in
      try bench(accounts.awake, .none, 0)
    }
    return table
  }

  /// Returns the run, and the processor time that the relay used for it and for what it does right
  /// after it.
  private func counting(
    _ relay: ChildRelay, _ body: () throws(CommandFailure) -> WakeRun
  ) throws(CommandFailure) -> (WakeRun, Int64?) {
    let before = ProcessMemory.processorTime(relay.process)
    let run = try body()
    try waiting.pause(milliseconds: 2_000)
    let after = ProcessMemory.processorTime(relay.process)
    return (run, before.flatMap { before in after.map { $0 - before } })
  }
}

/// The accounts of a wake bench: half of them with a device that has registered for wakes.
private struct WakeAccounts {
  let key: P256PrivateKey
  let auth: [UInt8]
  private(set) var sleeping: [WakeMember] = []
  private(set) var awake: [WakeMember] = []
  private var requests: [CommitRequest] = []

  init(count: Int, port: UInt16) {
    key = PushMessage.newKey(from: Entropy.secrets)
    auth = Entropy.secrets.bytes(PushRecipient.authBytes)
    let relayKey = WakeKey(madeAt: 1, privateKey: PushMessage.newKey(from: Entropy.secrets).scalar)
    requests.append(.addWakeKey(relayKey, onlyFirst: true))
    for number in 0..<count {
      sleeping.append(addAccount(wakesAt: "https://127.0.0.1:\(port)/d/\(number)"))
    }
    for _ in 0..<count { awake.append(addAccount(wakesAt: nil)) }
  }

  private mutating func addAccount(wakesAt endpoint: String?) -> WakeMember {
    let secrets = Entropy.secrets
    let account = AccountID(rawValue: secrets.word())
    let (saver, saverToken) = WakeAccounts.newDevice("saver")
    let (device, token) = WakeAccounts.newDevice("device")
    let code = secrets.bytes(32)
    let pairing = NewPairing(codeHash: code, expiresAt: .max)
    requests.append(
      .createAccount(account, generation: 1, label: "", device: saver, pairing: pairing))
    requests.append(.redeemPairing(codeHash: code, device: device))
    if let endpoint {
      let registration = WakeRegistration(
        id: Name(trusted: "bench"), endpoint: endpoint, p256dh: key.publicKey.bytes, auth: auth)
      requests.append(
        .putWake(account, device.id, registration, keyMadeAt: 1, codeHash: code))
      requests.append(.verifyWake(account, device.id, registration.id, codeHash: code))
    }
    return WakeMember(
      token: token, saverToken: saverToken, since: ChangeToken(generation: 1, sequence: 0))
  }

  private static func newDevice(_ name: String) -> (NewDevice, token: String) {
    let token = Base64.encodeURL(Entropy.secrets.bytes(32))
    let device = NewDevice(
      id: DeviceID(rawValue: Entropy.secrets.word()),
      description: DeviceDescription(deviceName: name, platform: "bench", appVersion: "1"),
      tokenHash: SHA256.hash(Array(token.utf8)))
    return (device, token)
  }

  /// Makes a store with the accounts.
  func store(in folder: String) throws(CommandFailure) {
    try CommandFailure.wrap { () throws(StorageError) in
      let store = try SQLiteZoneStore(
        directory: folder,
        opening: OpeningNumber.make(
          wall: SystemClock.moment().wall, random: Entropy.secrets.word()))
      var rest = requests[...]
      while !rest.isEmpty {
        _ = try store.commit(Array(rest.prefix(1_000)), wall: SystemClock.moment().wall)
        rest = rest.dropFirst(1_000)
      }
    }
  }

  /// Returns the devices with the position up to which each has everything by now.
  func newest(
    of members: [WakeMember], at relay: RelayAddress
  ) throws(CommandFailure) -> [WakeMember] {
    let call = RelayCall(relay: relay)
    var found: [WakeMember] = []
    for member in members {
      // Asked by the other device: a request of the sleeping one would count as its contact.
      let newest = try call.newestToken(member.saverToken)
      found.append(
        WakeMember(token: member.token, saverToken: member.saverToken, since: newest))
    }
    return found
  }
}

extension LoadThread where N == WakeLoadNode {
  /// Waits until the devices are ready, makes the changes, and waits for the end.
  fileprivate func run(_ waiting: BenchWait) throws(CommandFailure) -> WakeRun {
    do {
      try wait(for: "the devices' sign-in") { if case .ready = $0 { () } else { nil } }
      order(.openWindow)
      var run = try wait(for: "the changes") { if case .done(let run) = $0 { run } else { nil } }
      // A push too many would come right after the others.
      try waiting.pause(milliseconds: 500)
      try stop()
      run.pushes = try wait(for: "the end") { if case .stopped(let all) = $0 { all } else { nil } }
      return run
    } catch {
      try stop()
      throw error
    }
  }
}
