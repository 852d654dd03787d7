/// A set of small numbers, as a bit field: the edits that a device has seen.
package struct EditSet: Hashable {
  private var words: [UInt64] = []

  package init() {}

  package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

  package mutating func insert(_ number: Int) {
    while words.count <= number / 64 { words.append(0) }
    words[number / 64] |= 1 << UInt64(number % 64)
  }

  package mutating func remove(_ number: Int) {
    if number / 64 < words.count { words[number / 64] &= ~(1 << UInt64(number % 64)) }
  }

  package func contains(_ number: Int) -> Bool {
    number / 64 < words.count && words[number / 64] & 1 << UInt64(number % 64) != 0
  }

  package mutating func formUnion(_ other: EditSet) {
    while words.count < other.words.count { words.append(0) }
    for index in other.words.indices { words[index] |= other.words[index] }
  }

  package func union(_ other: EditSet) -> EditSet {
    var result = self
    result.formUnion(other)
    return result
  }

  package func isSubset(of other: EditSet) -> Bool {
    words.indices.allSatisfy { index in
      words[index] & ~(index < other.words.count ? other.words[index] : 0) == 0
    }
  }
}
