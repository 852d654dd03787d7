/// Values by text, in the order of the texts' UTF-8 bytes. `String` would treat two encodings of
/// one accented letter as one key, and a dictionary has no order.
package struct TextTable<Value> {
  package private(set) var entries: [(key: String, value: Value)]

  package init() { entries = [] }

  /// The last of several entries with one key counts.
  package init(_ unsorted: [(String, Value)]) {
    // The sort is stable, so the last of equal keys stays last.
    entries = []
    entries.reserveCapacity(unsorted.count)
    for entry in unsorted.sorted(by: { Self.precedes($0.0, $1.0) }) {
      if let last = entries.last, last.key.utf8.elementsEqual(entry.0.utf8) { entries.removeLast() }
      entries.append((key: entry.0, value: entry.1))
    }
  }

  package var isEmpty: Bool { entries.isEmpty }

  package subscript(_ key: String) -> Value? {
    get {
      let index = lowerBound(key)
      return holds(key, at: index) ? entries[index].value : nil
    }
    set {
      let index = lowerBound(key)
      switch (holds(key, at: index), newValue) {
      case (true, let value?): entries[index].value = value
      case (true, nil): entries.remove(at: index)
      case (false, let value?): entries.insert((key: key, value: value), at: index)
      case (false, nil): break
      }
    }
  }

  /// Returns a value for each key of either table; no entry where `combine` returns nil.
  package func combined<Other, Result>(
    with other: TextTable<Other>, _ combine: (String, Value?, Other?) -> Result?
  ) -> TextTable<Result> {
    var result = TextTable<Result>()
    func add(_ key: String, _ value: Value?, _ otherValue: Other?) {
      if let combined = combine(key, value, otherValue) {
        result.entries.append((key: key, value: combined))
      }
    }
    var rest = entries[...]
    var others = other.entries[...]
    while let first = rest.first, let second = others.first {
      if Self.precedes(first.key, second.key) {
        add(first.key, first.value, nil)
        rest.removeFirst()
      } else if Self.precedes(second.key, first.key) {
        add(second.key, nil, second.value)
        others.removeFirst()
      } else {
        add(first.key, first.value, second.value)
        rest.removeFirst()
        others.removeFirst()
      }
    }
    for entry in rest { add(entry.key, entry.value, nil) }
    for entry in others { add(entry.key, nil, entry.value) }
    return result
  }

  package func mapValues<Result>(_ transform: (Value) -> Result) -> TextTable<Result> {
    var result = TextTable<Result>()
    result.entries = entries.map { (key: $0.key, value: transform($0.value)) }
    return result
  }

  package func filter(_ isIncluded: (String, Value) -> Bool) -> TextTable {
    var result = TextTable()
    result.entries = entries.filter { isIncluded($0.key, $0.value) }
    return result
  }

  private func holds(_ key: String, at index: Int) -> Bool {
    index < entries.count && entries[index].key.utf8.elementsEqual(key.utf8)
  }

  /// Index of the first key that does not precede `key`.
  private func lowerBound(_ key: String) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if Self.precedes(entries[middle].key, key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func precedes(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}

extension TextTable: Sendable where Value: Sendable {}

extension TextTable: Equatable where Value: Equatable {
  package static func == (left: TextTable, right: TextTable) -> Bool {
    left.entries.elementsEqual(right.entries) {
      $0.key.utf8.elementsEqual($1.key.utf8) && $0.value == $1.value
    }
  }
}

extension TextTable: Hashable where Value: Hashable {
  package func hash(into hasher: inout Hasher) {
    for entry in entries {
      for byte in entry.key.utf8 { hasher.combine(byte) }
      hasher.combine(UInt8(0xFF))
      hasher.combine(entry.value)
    }
  }
}
