import LockstepSimulation

/// Environment of a simulation's nodes, with a count of its events.
package final class WorldEnvironment: SimulationEnvironment {
  package var tally = Tally()
}

extension WorldEnvironment {
  /// Counts a planned fault that took effect; a fault without effect does not count.
  func countFault(_ kind: FaultPlan.Kind) { tally.countFault(kind) }
}

/// Counts of the events that a simulation is meant to cause: a fault without effect proves nothing.
package struct Tally {
  package enum Occurrence: String, CaseIterable, Comparable {
    /// Edits by users that were made, and edits that were refused, such as a pause without a timer.
    case edit, editRefused
    /// Requests of devices to the relay: HTTP requests, and messages on sockets.
    case asked
    /// Restore of the relay's store from a copy.
    case restore
    /// A commit of the relay that failed: its store failed, or its disk was full.
    case commitFailed
    /// Saves that the copy did not have.
    case saveLost
    /// Rejected cursors: 410 `tokenExpired`, 410 `storeRestored`, 400 `badChangeToken`.
    case cursorExpired, cursorLost, cursorUnknown
    /// A cursor from a history before a restore that could still be followed.
    case cursorKept
    /// A device found that the relay lacks a record that it holds, or has an older version.
    case recordMissed
    /// Such a record was sent back to the relay through an outbox.
    case recordBroughtBack
    /// A conflict with a deletion of which the relay kept nothing.
    case deletionForgotten
    /// A snapshot, its further pages, and those of them that were read after another write.
    case snapshot, snapshotPage, snapshotPageUnderWrites
    /// A device learned that its plan excludes a zone, or all zones.
    case zoneBlocked, planGone
    /// A user switched a zone off or on.
    case zoneSwitched
    /// A listener received a change that it subscribes to, or a hint of one.
    case listenerWoken, listenerHinted
    /// A push that the push service accepted, refused, lost, and delivered.
    case wakeAccepted, wakeRefused, wakeLost, wakeDelivered
    /// A device that was woken died before it had read all changes.
    case sleeperDied
    /// A device's process started, also after a crash or a failure of its disk.
    case deviceStarted
    /// A chunk that a record names at the end.
    case chunkNamed
    /// New keys that a device saved; that it could not save, because another device had made some;
    /// that a device has from then on; and that a device was paired again for.
    case keysSaved, keysOvertaken, keysTaken, keysPaired
    /// A record that was saved again with newer keys.
    case recordSealedAgain
    /// An account that arrived in another cell, and a device that followed its account there.
    case accountMoved, deviceFollowed
    /// A relay that the bus cut off from the other relays on its store.
    case relayCutOff

    package static func < (left: Occurrence, right: Occurrence) -> Bool {
      left.rawValue < right.rawValue
    }
  }

  private var counts: [Occurrence: Int] = [:]
  private var strikes: [FaultPlan.Kind: Int] = [:]

  package init() {}

  package subscript(_ happening: Occurrence) -> Int { counts[happening] ?? 0 }

  package mutating func note(_ happening: Occurrence, _ count: Int = 1) {
    counts[happening, default: 0] += count
  }

  /// Number of times that a fault of this kind took effect.
  package subscript(_ kind: FaultPlan.Kind) -> Int { strikes[kind] ?? 0 }

  package mutating func countFault(_ kind: FaultPlan.Kind, _ count: Int = 1) {
    strikes[kind, default: 0] += count
  }

  package var faultCount: Int { FaultPlan.Kind.allCases.reduce(0) { $0 + self[$1] } }

  package mutating func add(_ other: Tally) {
    for happening in Occurrence.allCases where other[happening] > 0 {
      note(happening, other[happening])
    }
    for kind in FaultPlan.Kind.allCases where other[kind] > 0 { countFault(kind, other[kind]) }
  }
}

extension Tally: CustomStringConvertible {
  package var description: String {
    Occurrence.allCases.filter { self[$0] > 0 }.map { "\($0) \(self[$0])" }.joined(separator: ", ")
  }
}
