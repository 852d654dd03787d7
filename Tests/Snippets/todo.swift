import Foundation
import Lockstep

struct Todo: SyncedRecord {
  static let zone = "Todos"
  var id = RecordID.random()
  var title = ""
  var done = false
  var order = 0.0
  var dueDate: Date?
  var tags: Set<String> = []
  var minutes = SyncedCounter()
  static let rules: MergeRules = [
    "done": .or, "dueDate": .least, "tags": .set, "minutes": .counter,
  ]
}

struct Photo: SyncedRecord {
  static let zone = "Photos"
  var id = RecordID.random()
  var title = ""
  var image: FileReference?
}

func show<Record: SyncedRecord>(_ records: [Record]) {}

func snippet(lockstep: Lockstep, folder: URL, url: URL, code: String, id: String) async throws {
  // SNIPPET
}
