import LockstepModel

extension JSONValue {
  /// What an order or a question must say. Whoever writes them is a program, so the sentence says
  /// which word is wrong.
  package func word(_ name: String) throws(EditRefusal) -> String {
    guard let text = self[name]?.string else { throw EditRefusal("\(name) must be a text") }
    return text
  }

  package func whole(_ name: String) throws(EditRefusal) -> Int64 {
    guard let number = self[name]?.int64 else {
      throw EditRefusal("\(name) must be a whole number")
    }
    return number
  }
}

extension Record {
  /// nil where it is deleted, or where another program wrote what is no JSON.
  package var value: JSONValue? {
    fields.flatMap { JSONValue(ifJSON: $0) }
  }
}

extension AppState {
  /// The live records of a type.
  package func records(of type: Name) -> [Record] { records.filter { $0.type == type } }

  /// For whoever looks for many of them.
  package var recordsByKey: [RecordKey: Record] {
    Dictionary(records.map { ($0.key, $0) }) { first, _ in first }
  }

  /// A new record's name, which whoever gives the order has drawn.
  package static func newName(_ order: JSONValue) throws(EditRefusal) -> Name {
    guard let name = Name(try order.word("name")) else {
      throw EditRefusal("that is no name for a record")
    }
    return name
  }
}
