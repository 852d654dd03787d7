import LockstepClient
import LockstepEventLoop
import LockstepModel
import LockstepStorage
import LockstepTools

/// Follows changes between two devices of this process, on the given relay or one of its own.
struct TraceRun {
  var plan: TracePlan
  /// Relay to use; nil for one of its own, in another process, on a temporary store.
  var relay: RelayAddress?
  /// Trust policy for the relay's certificate.
  var trust: Trust
  var progress: Progress

  func table() throws(CommandFailure) -> TraceTable {
    defer { progress.clear() }
    guard let relay else {
      progress.show("starting a relay on a temporary store")
      let child = try ChildRelay()
      defer { child.stop() }
      return try follow(on: child.address)
    }
    return try follow(on: relay)
  }

  private func follow(on relay: RelayAddress) throws(CommandFailure) -> TraceTable {
    let stores = try FleetHomes(relay: relay, trust: trust, progress: progress).join(
      accounts: 1, devices: 2)
    progress.show("bringing both devices in sync")
    let (progress, changes) = (progress, plan.changes)
    let result = try FleetHomes.drive(
      TraceNode(plan: plan, random: Entropy.seededRandom(), at: SystemClock.moment()),
      apps: [], on: stores, trust
    ) { report -> TraceResult? in
      switch report {
      case .following(let number):
        progress.show("following change \(number) of \(changes)")
        return nil
      case .finished(let result): return result
      }
    }
    guard let result else { throw CommandFailure("the trace was interrupted") }
    return TraceTable(plan: plan, result: result)
  }
}
