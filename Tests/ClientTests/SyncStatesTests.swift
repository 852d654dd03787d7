import Foundation
import LockstepJSON
import LockstepModel
import Testing

@testable import LockstepClient

/// The table of the engine's states, which also holds the web client's engine
/// (`Tests/WebClientTests/client/syncStates.test.js`).
struct SyncStatesTests {
  @Test func anEngineFollowsTheTable() throws {
    let table = try Self.table()
    var found: Set<EngineWalk.Transition> = []
    for seed: UInt64 in 1...200 {
      var walk = EngineWalk(seed: seed)
      for _ in 0..<1_000 { walk.step() }
      found.formUnion(walk.found)
    }
    let extra = found.subtracting(table).map(\.text).sorted()
    #expect(extra.isEmpty, "not in the table")
    // Some events are rare at a state, but no change is.
    let missing = Set(table.map(\.change)).subtracting(found.map(\.change)).sorted()
    #expect(missing.isEmpty, "did not happen")
  }

  @Test func theTableHasEveryState() throws {
    let table = try Self.table()
    func states(_ machine: String) -> Set<String> {
      Set(table.filter { $0.machine == machine }.flatMap { [$0.from, $0.to] })
    }
    #expect(states("fetch") == Set(SyncEngine.FetchState.allCases.map(\.rawValue)))
    #expect(states("save") == ["idle", "offering", "sent"])
    #expect(states("stream") == Set(SyncEngine.StreamState.allCases.map(\.rawValue)))
  }

  /// Reads the transitions of this engine.
  private static func table() throws -> Set<EngineWalk.Transition> {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let file = root.appending(path: "WebClientTests/client/syncStates.json")
    let rows = try JSONValue(parsing: Array(Data(contentsOf: file))).array ?? []
    var table: Set<EngineWalk.Transition> = []
    for row in rows where row["only"]?.string != "javascript" {
      let machine = try #require(row["machine"]?.string)
      let (from, to) = (try #require(row["from"]?.string), try #require(row["to"]?.string))
      for event in try #require(row["events"]?.array) {
        table.insert(
          EngineWalk.Transition(
            machine: machine, from: from, to: to, event: try #require(event.string)))
      }
    }
    return table
  }
}

extension EngineWalk.Transition {
  fileprivate var change: String { "\(machine): \(from) to \(to)" }
  fileprivate var text: String { "\(change) by \(event)" }
}
