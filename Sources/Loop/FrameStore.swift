import Glibc

/// The frames that wait to leave, of all connections of one loop: a list each, in one block that
/// all share. So a frame that waits costs no allocation, and an idle connection owns nothing.
///
/// A frame is an array that is shared, never copied, by all lists that it stands in.
struct FrameStore: ~Copyable {
  private struct Entry {
    var frame: [UInt8]
    var next: Int32
  }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity: Int
  private var firstFree: Int32 = -1
  /// Entries from here on have never been used. Free ones hold an empty frame, which owns nothing.
  private var used = 0

  init() {
    capacity = 64
    entries = .allocate(capacity: capacity)
  }

  deinit {
    entries.deinitialize(count: used)
    entries.deallocate()
  }

  mutating func append(_ frame: [UInt8], to list: inout FrameList) {
    let index = takeEntry(frame)
    if list.last < 0 {
      list.first = index
    } else {
      entries[Int(list.last)].next = index
    }
    list.last = index
    list.unsent += frame.count
  }

  /// Points at most `limit` vectors at the bytes that leave next; returns how many, and how many
  /// bytes they have.
  ///
  /// The pointers stay good while the frames stand in the list: an array that is not written to
  /// keeps its elements in place.
  func gather(_ list: FrameList, into vectors: UnsafeMutablePointer<iovec>, limit: Int)
    -> (vectors: Int, bytes: Int)
  {
    var count = 0
    var bytes = 0
    var skipped = list.sentOfFirst
    var index = list.first
    while index >= 0, count < limit {
      let entry = entries + Int(index)
      entry.pointee.frame.withUnsafeBytes { buffer in
        let rest = buffer.count - skipped
        vectors[count].iov_base = UnsafeMutableRawPointer(
          mutating: buffer.baseAddress.map { $0 + skipped })
        vectors[count].iov_len = rest
        bytes += rest
      }
      skipped = 0
      count += 1
      index = entry.pointee.next
    }
    return (count, bytes)
  }

  /// The first `count` bytes of the list have left.
  mutating func drop(_ count: Int, from list: inout FrameList) {
    list.unsent -= count
    var left = count + list.sentOfFirst
    while list.first >= 0 {
      let size = entries[Int(list.first)].frame.count
      if left < size { break }
      left -= size
      freeFirst(of: &list)
    }
    list.sentOfFirst = left
  }

  mutating func dropAll(from list: inout FrameList) {
    while list.first >= 0 { freeFirst(of: &list) }
    list = FrameList()
  }

  private mutating func freeFirst(of list: inout FrameList) {
    let index = list.first
    let entry = entries + Int(index)
    list.first = entry.pointee.next
    if list.first < 0 { list.last = -1 }
    entry.pointee.frame = []
    entry.pointee.next = firstFree
    firstFree = index
  }

  private mutating func takeEntry(_ frame: [UInt8]) -> Int32 {
    if firstFree >= 0 {
      let index = firstFree
      let entry = entries + Int(index)
      firstFree = entry.pointee.next
      entry.pointee.frame = frame
      entry.pointee.next = -1
      return index
    }
    if used == capacity { grow() }
    (entries + used).initialize(to: Entry(frame: frame, next: -1))
    used += 1
    return Int32(used - 1)
  }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: entries, count: used)
    entries.deallocate()
    entries = larger
    capacity *= 2
  }
}

/// One connection's frames: a list in the loop's `FrameStore`.
struct FrameList {
  fileprivate(set) var first: Int32 = -1
  fileprivate(set) var last: Int32 = -1
  /// Bytes of the first frame that have left already.
  fileprivate(set) var sentOfFirst = 0
  /// Bytes that wait, over all frames.
  fileprivate(set) var unsent = 0
}
