import Foundation
import Lockstep
import LockstepTesting
import Testing

struct Todo: SyncedRecord {
  static let zone = "Todos"
  var id = RecordID.random()
  var title = ""
  var done = false
}

@Test func snippet() throws {
  // SNIPPET
}
