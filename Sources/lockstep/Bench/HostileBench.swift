import Changes
import Devices
import Loop
import Tools

/// Measures what one hostile account does to another: quiet windows and attacked ones, in turns, on
/// a relay of its own.
struct HostileBench {
  let seconds: Int
  let runs: Int
  let progress: Progress
  private let waiting: BenchWait

  private static let settleMilliseconds: Int64 = 500
  /// What the attacker's account holds where an attack reads it: full batches.
  private static let heldBatches = 100

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
    let relay = try ChildRelay()
    defer { relay.stop() }
    let call = RelayCall(relay: relay.address)
    let victim = try call.join(code: nil, deviceName: "victim").token
    let attacker = try call.join(code: nil, deviceName: "attacker").token
    progress.show("filling the attacker's account")
    let fill = try thread(
      [HostileClient(token: attacker, task: .fills(batches: Self.heldBatches))], relay)
    try fill.wait(for: "the attacker's records") { report in
      if case .done = report { () } else { nil }
    }
    try fill.stop()
    let saves = try thread([HostileClient(token: victim, task: .saves)], relay)
    let reads = try thread([HostileClient(token: victim, task: .reads)], relay)
    for each in [saves, reads] { try each.wait(for: "the victim", isReady) }
    var rows: [HostileRow] = []
    for attack in HostileAttack.allCases {
      var row = HostileRow(attack: attack)
      for number in 1...runs {
        progress.show("\(attack.rawValue): \(number) of \(runs), quiet")
        row.quiet.append(try window(saves, reads))
        progress.show("\(attack.rawValue): \(number) of \(runs), attacked")
        let attacking = try thread(clients(of: attack, token: attacker), relay)
        try attacking.wait(for: "the attack", isReady)
        try waiting.pause(milliseconds: Self.settleMilliseconds)
        row.attacked.append(try window(saves, reads))
        try attacking.stop()
        try waiting.pause(milliseconds: Self.settleMilliseconds)
      }
      rows.append(row)
    }
    for each in [saves, reads] { try each.stop() }
    return HostileTable(rows: rows, seconds: seconds)
  }

  private func clients(of attack: HostileAttack, token: String) -> [HostileClient] {
    let (task, count): (HostileTask, Int) =
      switch attack {
      case .zoneDeletions: (.deletesZone(batches: 10), 1)
      case .pieceNames: (.namesPieces, 8)
      case .emptyZoneReads: (.readsEmptyZone, 8)
      case .recordFlood: (.floods, 4)
      case .unreadPages: (.takesNothing, 64)
      case .halfMessages: (.sendsHalf, 64)
      }
    return Array(repeating: HostileClient(token: token, task: task), count: count)
  }

  private func window(
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

  private func thread(
    _ clients: [HostileClient], _ relay: ChildRelay
  ) throws(CommandFailure) -> LoadThread<HostileNode> {
    try LoadThread(
      HostileNode(clients, to: relay.address, random: Entropy.seededRandom()), waiting)
  }

  private func isReady(_ report: LoadReport) -> Void? {
    if case .ready = report { () } else { nil }
  }
}
