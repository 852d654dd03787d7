import Glibc

/// Frames that wait to be sent, of all connections of one loop: one list per connection, all in one
/// block of memory. A queued frame costs no allocation, and an idle connection needs no memory
/// here.
///
/// A frame is an array that all lists share without copying.
struct FrameStore: ~Copyable {
  private struct Entry {
    var frame: [UInt8]
    /// The frame's bytes. An array that is retained and not mutated keeps its elements in place.
    var bytes: UnsafeRawBufferPointer
  }

  /// An entry is initialised if it is in a list.
  private var entries: UnsafeMutablePointer<Entry>
  /// Index of the next entry of the list, or `none`. For a free entry: `freeMark` minus the index
  /// of the next free entry, which is less than `none`.
  private var links: UnsafeMutablePointer<Int32>
  private var capacity: Int
  private var firstFree = Self.none
  /// Entries from this index on have never been in a list.
  private var used = 0

  fileprivate static let none: Int32 = -1
  private static let freeMark: Int32 = -3
  /// Bytes that a frame takes besides its content: its entry here, the header of its array, and the
  /// allocator's overhead.
  private static let frameOverhead = 112

  @inline(__always)
  private static func heldUnits(of frame: [UInt8]) -> UInt32 {
    UInt32(truncatingIfNeeded: (frame.capacity + frameOverhead) / FrameList.heldUnit)
  }

  init() {
    capacity = 64
    entries = .allocate(capacity: capacity)
    links = .allocate(capacity: capacity)
  }

  deinit {
    for index in 0..<used where links[index] >= Self.none {
      (entries + index).deinitialize(count: 1)
    }
    entries.deallocate()
    links.deallocate()
  }

  @inline(__always)
  mutating func append(_ frame: [UInt8], to list: inout FrameList) {
    let index = takeEntry()
    (entries + Int(index)).initialize(
      to: Entry(frame: frame, bytes: frame.withUnsafeBytes { $0 }))
    links[Int(index)] = Self.none
    if list.last < 0 {
      list.first = index
    } else {
      links[Int(list.last)] = index
    }
    list.last = index
    list.unsent += frame.count
    list.heldUnits &+= Self.heldUnits(of: frame)
  }

  /// Points at most `limit` vectors at the bytes to send next, at most `most` bytes. Returns the
  /// number of vectors and of bytes. The pointers are valid while the frames are in the list.
  @inline(__always)
  func gather(
    _ list: FrameList, into vectors: UnsafeMutablePointer<iovec>, limit: Int, atMost most: Int
  ) -> (vectors: Int, bytes: Int) {
    var count = 0
    var bytes = 0
    var skipped = list.sentOfFirst
    var index = list.first
    while index >= 0, count < limit, bytes < most {
      let frame = entries[Int(index)].bytes
      guard let start = frame.baseAddress else { break }
      let length = min(frame.count - skipped, most - bytes)
      vectors[count].iov_base = UnsafeMutableRawPointer(mutating: start + skipped)
      vectors[count].iov_len = length
      bytes += length
      skipped = 0
      count += 1
      index = links[Int(index)]
    }
    return (count, bytes)
  }

  /// Returns the bytes to send next in one contiguous block, at most `buffer.count`. Copies them to
  /// `buffer` only if they are not contiguous already. `vectors` has capacity for `limit`.
  func join(
    _ list: FrameList, into buffer: UnsafeMutableRawBufferPointer,
    vectors: UnsafeMutablePointer<iovec>, limit: Int
  ) -> UnsafeRawBufferPointer {
    let count = gather(list, into: vectors, limit: limit, atMost: buffer.count).vectors
    if count == 1 {
      return UnsafeRawBufferPointer(start: vectors[0].iov_base, count: vectors[0].iov_len)
    }
    var filled = 0
    for index in 0..<count {
      let taken = min(vectors[index].iov_len, buffer.count - filled)
      UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(
        from: UnsafeRawBufferPointer(start: vectors[index].iov_base, count: taken))
      filled += taken
    }
    return UnsafeRawBufferPointer(rebasing: buffer[..<filled])
  }

  /// Removes the first `count` bytes of the list, which have been sent.
  @inline(__always)
  mutating func drop(_ count: Int, from list: inout FrameList) {
    if count == list.unsent { return dropAll(from: &list) }
    list.unsent -= count
    var left = count + list.sentOfFirst
    while list.first >= 0 {
      let size = entries[Int(list.first)].bytes.count
      if left < size { break }
      left -= size
      list.heldUnits &-= Self.heldUnits(of: entries[Int(list.first)].frame)
      list.first = free(list.first)
    }
    list.sentOfFirst = left
  }

  @inline(__always)
  mutating func dropAll(from list: inout FrameList) {
    var index = list.first
    while index >= 0 { index = free(index) }
    list = FrameList()
  }

  /// Frees an entry and returns the index of the one that followed it.
  @inline(__always)
  private mutating func free(_ index: Int32) -> Int32 {
    let next = links[Int(index)]
    _ = (entries + Int(index)).move()
    links[Int(index)] = Self.freeMark - firstFree
    firstFree = index
    return next
  }

  @inline(__always)
  private mutating func takeEntry() -> Int32 {
    let index = firstFree
    if index >= 0 {
      firstFree = Self.freeMark - links[Int(index)]
      return index
    }
    if used == capacity { grow() }
    used += 1
    return Int32(used - 1)
  }

  /// Called if no entry is free: all are initialised.
  @inline(never)
  private mutating func grow() {
    let moreEntries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
    moreEntries.moveInitialize(from: entries, count: capacity)
    entries.deallocate()
    entries = moreEntries
    let moreLinks = UnsafeMutablePointer<Int32>.allocate(capacity: capacity * 2)
    moreLinks.moveInitialize(from: links, count: capacity)
    links.deallocate()
    links = moreLinks
    capacity *= 2
  }
}

/// Frames of one connection: a list in the loop's `FrameStore`.
struct FrameList {
  fileprivate(set) var first = FrameStore.none
  fileprivate(set) var last = FrameStore.none
  private var sent: UInt32 = 0
  /// `held` in units of 16 bytes, to keep the list small: each connection contains one.
  fileprivate(set) var heldUnits: UInt32 = 0
  /// Bytes not sent yet, over all frames.
  fileprivate(set) var unsent = 0

  fileprivate static let heldUnit = 16

  /// Bytes of the first frame that are already sent. Every frame is shorter than UInt32 can count.
  fileprivate(set) var sentOfFirst: Int {
    get { Int(sent) }
    set { sent = UInt32(newValue) }
  }

  /// Memory that the frames take, in bytes. A frame in several lists counts in each.
  var held: Int { Int(heldUnits) * FrameList.heldUnit }
}
