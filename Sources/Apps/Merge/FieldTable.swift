import LockstepModel

/// An object's fields by name. Names are told apart by their bytes: `String` would take two
/// spellings of one accented letter for the same name.
struct FieldTable {
  private let values: [[UInt8]: JSONValue]

  init(_ object: JSONValue?) {
    let members = object?.members ?? []
    values = Dictionary(members.map { (Array($0.name.utf8), $0.value) }) { first, _ in first }
  }

  subscript(_ name: String) -> JSONValue? { values[Array(name.utf8)] }

  func holds(_ name: String) -> Bool { values.index(forKey: Array(name.utf8)) != nil }
}
