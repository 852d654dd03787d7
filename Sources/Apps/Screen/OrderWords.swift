import LockstepModel

extension JSONValue {
  /// Returns a required text member of an order or a question. These come from programs, so the
  /// error names the wrong member.
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
  /// nil if the record is deleted, or if another program wrote something that is not JSON.
  package var value: JSONValue? {
    fields.flatMap { JSONValue(ifJSON: $0) }
  }
}

extension AppState {
  /// Returns the live records of a type.
  package func records(of type: Name) -> [Record] { records.filter { $0.type == type } }

  /// Index for callers that look up many records.
  package var recordsByKey: [RecordKey: Record] {
    Dictionary(records.map { ($0.key, $0) }) { first, _ in first }
  }

  /// Returns the name of a new record, which the sender of the order has generated.
  package static func newName(_ order: JSONValue) throws(EditRefusal) -> Name {
    guard let name = Name(try order.word("name")) else {
      throw EditRefusal("that is no name for a record")
    }
    return name
  }
}
