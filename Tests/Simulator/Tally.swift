import LockstepSimulation

/// What is outside of a world's nodes, and a count of what happened there.
package final class WorldOutside: SimulationEnvironment {
  package var tally = Tally()
}

extension WorldOutside {
  /// A fault of the plan met somebody; one that meets nobody does not count.
  func struck(_ kind: FaultPlan.Kind) { tally.struck(kind) }
}

/// How often what a world is named for happened in it: a fault that strikes nobody proves nothing.
package struct Tally {
  package enum Happening: String, CaseIterable, Comparable {
    /// A person's edit that was made, and one that came to nothing: there was nothing to pause.
    case edit, editRefused
    /// What devices asked of the relay: requests, and messages on sockets.
    case asked
    /// The relay's store was put back.
    case restore
    /// Saves that the copy did not have.
    case saveLost
    /// 410 `tokenExpired`, 410 `storeRestored`, 400 `badChangeToken`.
    case cursorExpired, cursorLost, cursorUnknown
    /// A device's cursor was of a history before a restore, and could still be followed.
    case cursorKept
    /// A device found that the relay lacks a record that it holds, or has an older version.
    case recordMissed
    /// It went back through an outbox.
    case recordBroughtBack
    /// A conflict with a deletion of which the relay kept nothing.
    case deletionForgotten
    /// A snapshot, its further pages, and those of them that were read after somebody had written.
    case snapshot, snapshotPage, snapshotPageUnderWrites
    /// A device heard that its plan does not include a zone, or no zone at all.
    case zoneBlocked, planGone
    /// A device's person switched a zone off, or on again.
    case zoneSwitched
    /// A listener was told a change that it watches, or was hinted at one.
    case listenerWoken, listenerHinted
    /// A chunk of a file that a record names in the end.
    case chunkNamed

    package static func < (left: Happening, right: Happening) -> Bool {
      left.rawValue < right.rawValue
    }
  }

  private var counts: [Happening: Int] = [:]
  private var strikes: [FaultPlan.Kind: Int] = [:]

  package init() {}

  package subscript(_ happening: Happening) -> Int { counts[happening] ?? 0 }

  package mutating func note(_ happening: Happening, _ count: Int = 1) {
    counts[happening, default: 0] += count
  }

  /// How often a kind of fault struck somebody.
  package subscript(_ kind: FaultPlan.Kind) -> Int { strikes[kind] ?? 0 }

  package mutating func struck(_ kind: FaultPlan.Kind, _ count: Int = 1) {
    strikes[kind, default: 0] += count
  }

  package var strikesInAll: Int { FaultPlan.Kind.allCases.reduce(0) { $0 + self[$1] } }

  package mutating func add(_ other: Tally) {
    for happening in Happening.allCases where other[happening] > 0 {
      note(happening, other[happening])
    }
    for kind in FaultPlan.Kind.allCases where other[kind] > 0 { struck(kind, other[kind]) }
  }
}

extension Tally: CustomStringConvertible {
  package var description: String {
    Happening.allCases.filter { self[$0] > 0 }.map { "\($0) \(self[$0])" }.joined(separator: ", ")
  }
}
