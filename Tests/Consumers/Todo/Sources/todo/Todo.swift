import Foundation
import Lockstep

struct Todo: SyncedRecord {
  static let zone = "Todos"
  var id = RecordID.random()
  var title = ""
  var done = false
  var order = Date().timeIntervalSince1970
  var tags: Set<String> = []
  var minutes = SyncedCounter()
  static let rules: MergeRules = ["done": .or, "tags": .set, "minutes": .counter]
}
