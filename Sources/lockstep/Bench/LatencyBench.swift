import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import LockstepTools

/// Runs a latency bench: accounts and devices on a relay, and many agents in one event loop of this
/// process. Also measures the relay and the disk meanwhile.
struct LatencyBench {
  var plan: BenchPlan
  /// Relay to measure; nil for one of its own, in another process, on a temporary store.
  var relay: RelayAddress?
  /// Trust policy for the relay's certificate.
  var trust = Trust.system
  /// Process of `relay`, if its CPU time is to be counted.
  var relayProcess: Int32?
  var progress: Progress

  func run() throws(CommandFailure) -> BenchTable {
    guard let relay else {
      progress.show("starting a relay on a temporary store")
      let child = try ChildRelay()
      defer { child.stop() }
      return try run(on: child.address, process: child.process, folder: child.store)
    }
    return try run(on: relay, process: relayProcess, folder: "/tmp")
  }

  private func run(on relay: RelayAddress, process: Int32?, folder: String)
    throws(CommandFailure) -> BenchTable
  {
    defer { progress.clear() }
    let stores = try FleetHomes(relay: relay, trust: trust, progress: progress).join(
      accounts: plan.accounts, devices: plan.devices)
    let probe = try CommitProbe(folder: folder)
    let before = process.flatMap(SystemClock.processorNanoseconds(ofProcess:))
    let result: BenchResult
    do throws(CommandFailure) {
      result = try measure(stores)
    } catch {
      _ = probe.finish()
      throw error
    }
    let after = process.flatMap(SystemClock.processorNanoseconds(ofProcess:))
    var spent: Int64?
    if let before, let after { spent = (after - before) / 1_000 }
    return BenchTable(
      plan: plan, result: result, commits: probe.finish(), relayProcessorMicroseconds: spent,
      seamInstructions: try seamInstructions())
  }

  /// Returns nil if this machine does not let programs count instructions.
  private func seamInstructions() throws(CommandFailure) -> Int64? {
    do throws(SystemFault) {
      return try SeamCost.measure().instructions
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  private func measure(_ stores: sending [MemoryReplicaStore]) throws(CommandFailure) -> BenchResult
  {
    progress.show("bringing \(stores.count) devices in sync")
    let (progress, seconds) = (progress, plan.seconds)
    let result = try FleetHomes.drive(
      BenchNode(plan: plan, random: Entropy.seededRandom(), at: SystemClock.moment()),
      apps: [], on: stores, trust
    ) { report -> BenchResult? in
      switch report {
      case .running:
        progress.show("measuring for \(seconds) s")
        return nil
      case .finished(let result): return result
      }
    }
    guard let result else { throw CommandFailure("the bench was interrupted") }
    return result
  }
}
