import LockstepModel

/// Fields of an object by name. Names are compared by their bytes: `String` treats two encodings of
/// one accented letter as equal.
struct FieldTable {
  private let values: [[UInt8]: JSONValue]

  init(_ object: JSONValue?) {
    let members = object?.members ?? []
    values = Dictionary(members.map { (Array($0.name.utf8), $0.value) }) { first, _ in first }
  }

  subscript(_ name: String) -> JSONValue? { values[Array(name.utf8)] }

  func holds(_ name: String) -> Bool { values.index(forKey: Array(name.utf8)) != nil }
}
