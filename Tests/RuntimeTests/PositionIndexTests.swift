import LockstepModel
import LockstepRuntime
import Testing

struct PositionIndexTests {
  /// A key of which few hashes occur.
  private struct Key: IndexedKey {
    var number: UInt64
    var hashes: UInt64
    var indexHash: UInt64 { number % hashes }
  }

  /// A table with the index under test. A removed element stays until its place is used again.
  private struct Table {
    var keys: [Key] = []
    var free: [Int] = []
    var index = PositionIndex()

    func position(of key: Key) -> Int? { index.position(of: key) { keys[$0] } }

    mutating func insert(_ key: Key) {
      let position = free.popLast() ?? keys.count
      if position == keys.count { keys.append(key) } else { keys[position] = key }
      let keys = keys
      index.insert(position) { keys[$0] }
    }

    mutating func remove(_ key: Key) {
      guard let position = position(of: key) else { return }
      let keys = keys
      index.remove(position) { keys[$0] }
      free.append(position)
    }
  }

  @Test(arguments: [1, 3, 50, .max] as [UInt64])
  func `a key is found from its insertion to its removal`(hashes: UInt64) {
    var table = Table()
    var present: Set<UInt64> = []
    var random = SeededRandom(seed: hashes)
    for _ in 0..<2_000 {
      let number = UInt64.random(in: 0..<100, using: &random)
      let key = Key(number: number, hashes: hashes)
      if present.remove(number) != nil {
        table.remove(key)
      } else {
        present.insert(number)
        table.insert(key)
      }
      let found = (0..<100 as Range<UInt64>).filter {
        table.position(of: Key(number: $0, hashes: hashes)) != nil
      }
      #expect(Set(found) == present)
      #expect(table.index.count == present.count)
    }
  }

  @Test func `an empty index finds nothing, and removes nothing`() {
    let key = Key(number: 1, hashes: 1)
    var index = PositionIndex()
    #expect(index.position(of: key) { _ in key } == nil)
    index.remove(1) { _ in key }
    #expect(index.count == 0)
  }

  @Test func `the removal of an unknown position changes nothing`() {
    let key = Key(number: 1, hashes: 1)
    var index = PositionIndex()
    index.insert(7) { _ in key }
    index.remove(8) { _ in key }
    #expect(index.position(of: key) { _ in key } == 7)
  }
}
