import Glibc
import LockstepModel
import Testing

@testable import LockstepEventLoop

struct FrameStoreTests {
  private func bytes(
    _ store: borrowing FrameStore, _ list: FrameList, limit: Int = 64, atMost most: Int = 1_000
  ) -> [UInt8] {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: limit) { vectors in
      guard let start = vectors.baseAddress else { return [] }
      let gathering = FrameStore.Gathering(start, limit: limit, atMost: most)
      return store.withVectors(of: list, gathering) { gathered in
        let all = vectors.prefix(gathered.count).flatMap {
          Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len))
        }
        #expect(all.count == gathered.bytes)
        return all
      }
    }
  }

  private func expect(_ store: borrowing FrameStore, _ list: FrameList, _ wanted: [UInt8]) {
    let all = bytes(store, list)
    #expect(all == wanted)
  }

  @Test func oneWriteHasNoMoreBytesThanItMay() {
    var store = FrameStore()
    var list = FrameList()
    store.append([1, 2, 3], to: &list)
    store.append([4, 5], to: &list)
    let portions = [1: [1], 3: [1, 2, 3], 4: [1, 2, 3, 4], 9: [1, 2, 3, 4, 5]] as [Int: [UInt8]]
    for (most, wanted) in portions {
      let portion = bytes(store, list, atMost: most)
      #expect(portion == wanted)
    }
    store.drop(2, from: &list)
    let rest = bytes(store, list, atMost: 2)
    #expect(rest == [3, 4])
    store.dropAll(from: &list)
  }

  @Test func partOfAFrameLeavesTheRest() {
    var store = FrameStore()
    var list = FrameList()
    store.append([1, 2, 3], to: &list)
    store.append([4, 5], to: &list)
    store.drop(2, from: &list)
    expect(store, list, [3, 4, 5])
    store.drop(1, from: &list)
    expect(store, list, [4, 5])
    #expect(list.unsent == 2)
  }

  @Test func memoryOfAFrameIsCountedUntilAllOfItIsSent() {
    var store = FrameStore()
    var list = FrameList()
    var roomy: [UInt8] = []
    roomy.reserveCapacity(4_000)
    roomy.append(1)
    store.append(roomy, to: &list)
    let one = list.held
    #expect(one >= 4_000)
    store.append([2, 3], to: &list)
    #expect(list.held > one + 2)
    store.drop(2, from: &list)
    #expect(list.held < one)
    #expect(list.held > 2, "the second is held whole")
    store.drop(1, from: &list)
    #expect(list.held == 0)
  }

  @Test func gatheringStopsAtItsLimit() {
    var store = FrameStore()
    var list = FrameList()
    for byte in 0..<10 { store.append([UInt8(byte)], to: &list) }
    let first = bytes(store, list, limit: 4)
    #expect(first == [0, 1, 2, 3])
  }

  /// Returns the next bytes to send, joined, at most eight.
  private func joined(_ store: borrowing FrameStore, _ list: FrameList) -> [UInt8] {
    withUnsafeTemporaryAllocation(of: iovec.self, capacity: 4) { vectors in
      withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { buffer in
        guard let start = vectors.baseAddress else { return [] }
        return store.withJoined(list, in: buffer, vectors: start, limit: 4) { Array($0) }
      }
    }
  }

  @Test func framesAreJoinedUpToTheBuffersSize() {
    var store = FrameStore()
    var list = FrameList()
    store.append([1, 2, 3], to: &list)
    var first = joined(store, list)
    #expect(first == [1, 2, 3])
    // Bytes that wait for buffer space are passed again, with more appended, and start with the
    // same ones.
    store.append([4, 5, 6, 7], to: &list)
    store.append([8, 9, 10], to: &list)
    first = joined(store, list)
    #expect(first == [1, 2, 3, 4, 5, 6, 7, 8])
    store.drop(2, from: &list)
    store.append(Array(11...30), to: &list)
    first = joined(store, list)
    #expect(first == [3, 4, 5, 6, 7, 8, 9, 10])
    store.drop(8, from: &list)
    first = joined(store, list)
    #expect(first == Array(11...18), "a large frame is not copied")
  }

  @Test func listsDoNotDisturbOneAnother() {
    var random = SeededRandom(seed: 20_261_121)
    var store = FrameStore()
    var lists = [FrameList](repeating: FrameList(), count: 20)
    var models = [[UInt8]](repeating: [], count: 20)
    for _ in 0..<20_000 {
      let index = Int.random(in: 0..<20, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0, 1:
        let frame = (0..<Int.random(in: 1...9, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        store.append(frame, to: &lists[index])
        models[index] += frame
      case 2, 3:
        let count = min(Int.random(in: 0...30, using: &random), lists[index].unsent)
        store.drop(count, from: &lists[index])
        models[index].removeFirst(count)
      default:
        let all = bytes(store, lists[index], limit: 4_096)
        #expect(all == models[index])
        #expect(lists[index].unsent == models[index].count)
      }
    }
    store.dropAll(from: &lists[0])
    #expect(lists[0].unsent == 0)
    expect(store, lists[0], [])
  }
}
