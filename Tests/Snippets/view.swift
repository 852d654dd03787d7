import Foundation
import Lockstep

struct Todo: SyncedRecord {
  static let zone = "Todos"
  var id = RecordID.random()
  var title = ""
  var done = false
}

// What the snippet uses of SwiftUI, which Linux does not have.
@MainActor protocol View {}

@MainActor struct Text {
  init(_ text: String) {}
}

@MainActor struct List<Row>: View {
  init<Record: SyncedRecord>(_ records: [Record], @RowBuilder row: (Record) -> Row) {}
}

@resultBuilder struct RowBuilder {
  static func buildBlock<Row>(_ row: Row) -> Row { row }
}

@propertyWrapper @MainActor struct State<Value> {
  var wrappedValue: Value
}

@MainActor let lockstep: Lockstep = { preconditionFailure("never run") }()

@MainActor struct Snippet {
  // SNIPPET
}
