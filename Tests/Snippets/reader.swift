import Foundation
import Lockstep

struct Todo: SyncedRecord {
  static let zone = "Todos"
  var id = RecordID.random()
  var title = ""
  var done = false
}

func snippet(folder: URL) async throws {
  // SNIPPET
}
