import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelayService

/// Measures the effect of a hostile account on another. Alternates quiet windows and windows under
/// attack, on a relay of its own.
struct HostileBench {
  let seconds: Int
  let runs: Int
  let progress: Progress
  private let waiting: BenchWait

  private static let settleMilliseconds: Int64 = 500
  /// Pause in milliseconds from the start of all attacks to the measurement: their first requests
  /// arrive at once.
  private static let attackSettleMilliseconds: Int64 = 3_000
  /// Full batches in the attacker's account, for attacks that read it.
  private static let heldBatches = 100
  /// Memory in bytes that docs/relay/sizing.md allows a relay besides its idle connections, of
  /// which there are few: bodies and answers, and the pages that its loops read.
  private static var memoryMost: Int64 {
    Int64(Limits.bodyBudgetBytes) + Int64(RelayCommand.processors) * (32 << 20)
  }

  init(seconds: Int, runs: Int, progress: Progress) throws(CommandFailure) {
    self.seconds = seconds
    self.runs = runs
    self.progress = progress
    waiting = try BenchWait()
    OpenFiles.raiseLimit()
  }

  func run() throws(CommandFailure) -> HostileTable {
    defer { progress.clear() }
    progress.show("starting a relay on a temporary store")
    // Pairing codes are tried from separate addresses; otherwise no other device could pair.
    let relay = try ChildRelay(["--trust-proxy", "127.0.0.1"])
    defer { relay.stop() }
    let rows = try measureAttacks(on: relay)
    let together = try measureTogether(on: relay)
    return HostileTable(
      rows: rows, seconds: seconds, together: together, memoryMost: Self.memoryMost)
  }

  /// Runs each attack alone, by one account, and measures its effect on another.
  private func measureAttacks(on relay: ChildRelay) throws(CommandFailure) -> [HostileRow] {
    let call = RelayCall(relay: relay.address)
    let victim = try call.join(code: nil, deviceName: "victim").credentials.token
    let attacker = try call.join(code: nil, deviceName: "attacker").credentials.token
    try fill([attacker], batches: Self.heldBatches, relay)
    let saves = try startThread([HostileClient(token: victim, task: .saves)], relay)
    let reads = try startThread([HostileClient(token: victim, task: .reads)], relay)
    for each in [saves, reads] { try each.wait(for: "the victim", isReady) }
    var rows: [HostileRow] = []
    for attack in HostileAttack.allCases {
      var row = HostileRow(attack: attack)
      for number in 1...runs {
        progress.show("\(attack.rawValue): \(number) of \(runs), quiet")
        row.quiet.append(try measureWindow(saves, reads))
        progress.show("\(attack.rawValue): \(number) of \(runs), attacked")
        let (task, count) = clients(of: attack)
        let attacking = try startThread(
          Array(repeating: HostileClient(token: attacker, task: task), count: count), relay,
          isLowPriority: true)
        try attacking.wait(for: "the attack", isReady)
        try waiting.pause(milliseconds: Self.settleMilliseconds)
        row.attacked.append(try measureWindow(saves, reads))
        try attacking.stop()
        try waiting.pause(milliseconds: Self.settleMilliseconds)
      }
      rows.append(row)
    }
    for each in [saves, reads] { try each.stop() }
    return rows
  }

  /// Runs all attacks at once, by as many accounts as there are clients of each kind.
  private func measureTogether(
    on relay: ChildRelay
  ) throws(CommandFailure) -> [ConnectionLoadPair] {
    let call = RelayCall(relay: relay.address)
    var clients: [HostileClient] = []
    var tokens: [String] = []
    for number in 1...HostileTable.clientsOfAKind {
      let token = try call.join(code: nil, deviceName: "attacker \(number)").credentials.token
      tokens.append(token)
      for attack in HostileAttack.allCases {
        clients.append(HostileClient(token: token, task: self.clients(of: attack).task))
      }
    }
    try fill(tokens, batches: Self.heldBatches / HostileTable.clientsOfAKind, relay)
    var measured = ConnectionLoadPlan().measured
    measured.seconds = seconds
    var pairs: [ConnectionLoadPair] = []
    for number in 1...runs {
      progress.show("all at once: \(number) of \(runs), quiet")
      let before = ProcessMemory.resident(relay.process)
      ProcessMemory.resetPeak(relay.process)
      let quiet = try measure(measured, on: relay)
      progress.show("all at once: \(number) of \(runs), attacked")
      let attacking = try startThread(clients, relay, isLowPriority: true)
      try attacking.wait(for: "the attack", isReady)
      try waiting.pause(milliseconds: Self.attackSettleMilliseconds)
      var pair = ConnectionLoadPair(quiet: quiet, loaded: try measure(measured, on: relay))
      (pair.relayBefore, pair.relayPeak) = (before, ProcessMemory.peak(relay.process))
      pairs.append(pair)
      try attacking.stop()
      try waiting.pause(milliseconds: Self.settleMilliseconds)
    }
    return pairs
  }

  private func measure(
    _ plan: BenchPlan, on relay: ChildRelay
  ) throws(CommandFailure) -> BenchResult {
    try LatencyBench(
      plan: plan, relay: relay.address, relayProcess: relay.process, progress: progress
    ).run().result
  }

  private func fill(
    _ tokens: [String], batches: Int, _ relay: ChildRelay
  ) throws(CommandFailure) {
    progress.show("filling the attackers' accounts")
    let fill = try startThread(
      tokens.map { HostileClient(token: $0, task: .fills(batches: batches)) }, relay)
    try fill.wait(for: "the attackers' records") { report in
      if case .done = report { () } else { nil }
    }
    try fill.stop()
  }

  private func clients(of attack: HostileAttack) -> (task: HostileTask, count: Int) {
    switch attack {
    case .zoneDeletions: (.deletesZone(batches: 10), 1)
    case .chunkNames: (.namesChunks, 8)
    case .emptyZoneReads: (.readsEmptyZone, 8)
    case .recordFlood: (.floods, 4)
    case .unreadPages: (.neverReads, 300)
    case .halfMessages: (.sendsHalf, 64)
    case .drips: (.drips, 64)
    case .guesses: (.guesses(from: "198.51.100.1"), 8)
    case .reconnects: (.reconnects, 64)
    }
  }

  private func measureWindow(
    _ saves: LoadThread<HostileNode>, _ reads: LoadThread<HostileNode>
  ) throws(CommandFailure) -> HostileWindow {
    for each in [saves, reads] { each.order(.openWindow) }
    try waiting.pause(milliseconds: Int64(seconds) * 1_000)
    for each in [saves, reads] { each.order(.closeWindow) }
    return HostileWindow(saves: try latency(of: saves), reads: try latency(of: reads))
  }

  private func latency(
    of thread: LoadThread<HostileNode>
  ) throws(CommandFailure) -> LatencyHistogram {
    try thread.wait(for: "the victim's figures") { report in
      if case .window(let latency) = report { latency } else { nil }
    }
  }

  private func startThread(
    _ clients: [HostileClient], _ relay: ChildRelay, isLowPriority: Bool = false
  ) throws(CommandFailure) -> LoadThread<HostileNode> {
    try LoadThread(
      HostileNode(clients, to: relay.address, random: Entropy.seededRandom()),
      isLowPriority: isLowPriority, waiting)
  }

  private func isReady(_ report: LoadReport) -> Void? {
    if case .ready = report { () } else { nil }
  }
}
