extension JSONValue {
  /// The member of that name; nil if there is none, and for all values but objects.
  public subscript(_ name: String) -> JSONValue? {
    guard let index = index(of: name), case .object(let members) = self else { return nil }
    return members[index].value
  }

  /// The text of a string; nil for anything else.
  public var string: String? {
    guard case .string(let value) = self else { return nil }
    return value
  }

  /// The number of a number; nil for anything else.
  public var number: JSONNumber? {
    guard case .number(let value) = self else { return nil }
    return value
  }

  /// The value of a whole number that fits; nil for anything else.
  public var int64: Int64? { number?.int64 }

  public var bool: Bool? {
    guard case .bool(let value) = self else { return nil }
    return value
  }

  /// The elements of an array; nil for anything else.
  public var array: [JSONValue]? {
    guard case .array(let value) = self else { return nil }
    return value
  }

  /// The members of an object, in their order; nil for anything else.
  public var members: [JSONMember]? {
    guard case .object(let value) = self else { return nil }
    return value
  }

  public var isNull: Bool {
    guard case .null = self else { return false }
    return true
  }

  /// Returns this object with the member set: in its old place, or at the end if it is new. With
  /// nil the member is removed. A value that is not an object counts as an empty one. Copies the
  /// object: use `setting(_:)` for more than a few members.
  public func setting(_ name: String, to value: JSONValue?) -> JSONValue {
    var members = members ?? []
    switch (index(of: name), value) {
    case (let index?, let value?): members[index].value = value
    case (let index?, nil): members.remove(at: index)
    case (nil, let value?): members.append(JSONMember(name, value))
    case (nil, nil): break
    }
    return .object(members)
  }

  /// Returns this object with all these members set, the later of two of one name, in one pass for
  /// any number of them. A value that is not an object counts as an empty one.
  public func setting(_ changes: [JSONMember]) -> JSONValue {
    var members = members ?? []
    // Names are compared by their bytes: `String` would treat two spellings of one letter as equal.
    var places = Dictionary(
      members.enumerated().map { (Array($1.name.utf8), $0) },
      uniquingKeysWith: { first, _ in first })
    for change in changes {
      let name = Array(change.name.utf8)
      if let place = places[name] {
        members[place].value = change.value
      } else {
        places[name] = members.count
        members.append(change)
      }
    }
    return .object(members)
  }

  private func index(of name: String) -> Int? {
    guard case .object(let members) = self else { return nil }
    return members.firstIndex { $0.name.utf8.elementsEqual(name.utf8) }
  }
}

// There is deliberately no `nil` literal: where a JSONValue may be absent, it would mean null.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }

  public init(stringLiteral value: String) { self = .string(value) }

  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

  /// A name may occur once.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    let members = elements.map { JSONMember($0.0, $0.1) }
    precondition(!members.hasDuplicateName, "a name stands twice in an object of our own")
    self = .object(members)
  }
}
