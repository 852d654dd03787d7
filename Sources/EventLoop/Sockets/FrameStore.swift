import Glibc

/// Frames that wait to be sent, of all connections of one loop: one list per connection, all in one
/// block of memory. A queued frame costs no allocation, and an idle connection needs no memory
/// here.
///
/// A frame is an array that all lists share without copying.
struct FrameStore: ~Copyable {
  /// An entry is initialised if it is in a list.
  private var entries: UnsafeMutablePointer<[UInt8]>
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
    let index = allocateEntry()
    (entries + Int(index)).initialize(to: frame)
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

  /// Vectors that point at frames, and what limits them.
  struct Gathering {
    let vectors: UnsafeMutablePointer<iovec>
    /// Maximum number of vectors, and of bytes.
    let limit: Int
    let most: Int
    fileprivate(set) var count = 0
    fileprivate(set) var bytes = 0

    init(_ vectors: UnsafeMutablePointer<iovec>, limit: Int, atMost most: Int) {
      self.vectors = vectors
      self.limit = limit
      self.most = most
    }
  }

  /// Calls `body` with vectors that point at the bytes to send next. They are valid during the call
  /// only.
  @inline(__always)
  func withVectors<Result, Failure: Error>(
    of list: FrameList, _ gathering: Gathering,
    _ body: (borrowing Gathering) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    var gathering = gathering
    // Mostly there is one frame.
    return try withVector(list.first, from: list.sentOfFirst, &gathering, body) {
      (next: Int32, gathering: inout Gathering) throws(Failure) -> Result in
      next < 0 ? try body(gathering) : try withFurtherVectors(from: next, &gathering, body)
    }
  }

  /// Adds vectors for the frames from `index` on. A frame's bytes are borrowed in a closure, so the
  /// closures are nested, four in each call.
  private func withFurtherVectors<Result, Failure: Error>(
    from index: Int32, _ gathering: inout Gathering,
    _ body: (borrowing Gathering) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try withVector(index, &gathering, body) {
      (next: Int32, gathering: inout Gathering) throws(Failure) -> Result in
      try withVector(next, &gathering, body) {
        (next: Int32, gathering: inout Gathering) throws(Failure) -> Result in
        try withVector(next, &gathering, body) {
          (next: Int32, gathering: inout Gathering) throws(Failure) -> Result in
          try withVector(next, &gathering, body) {
            (next: Int32, gathering: inout Gathering) throws(Failure) -> Result in
            try withFurtherVectors(from: next, &gathering, body)
          }
        }
      }
    }
  }

  /// Points a vector at the bytes of one frame from `start` on, during `more`, which gets the index
  /// of the next frame. If there is no frame, or no vector is allowed, calls `body`.
  @inline(__always)
  private func withVector<Result, Failure: Error>(
    _ index: Int32, from start: Int = 0, _ gathering: inout Gathering,
    _ body: (borrowing Gathering) throws(Failure) -> Result,
    _ more: (_ next: Int32, inout Gathering) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard index >= 0, gathering.count < gathering.limit, gathering.bytes < gathering.most else {
      return try body(gathering)
    }
    // `span` does not retain the array, which the entry does.
    return try entries[Int(index)].span.withUnsafeBufferPointer {
      (frame) throws(Failure) -> Result in
      let length = min(frame.count - start, gathering.most - gathering.bytes)
      gathering.vectors[gathering.count] = iovec(
        iov_base: frame.baseAddress.map { UnsafeMutableRawPointer(mutating: $0 + start) },
        iov_len: length)
      gathering.count += 1
      gathering.bytes += length
      return try more(links[Int(index)], &gathering)
    }
  }

  /// Calls `body` with the bytes to send next in one contiguous block, at most `buffer.count`.
  /// Copies them to `buffer` only if they are not contiguous already. `vectors` has capacity for
  /// `limit`. The block is valid during the call only.
  func withJoined<Result>(
    _ list: FrameList, in buffer: UnsafeMutableRawBufferPointer,
    vectors: UnsafeMutablePointer<iovec>, limit: Int, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    withVectors(of: list, Gathering(vectors, limit: limit, atMost: buffer.count)) { gathered in
      if gathered.count == 1 {
        return body(UnsafeRawBufferPointer(start: vectors[0].iov_base, count: gathered.bytes))
      }
      var filled = 0
      for index in 0..<gathered.count {
        let length = vectors[index].iov_len
        UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(
          from: UnsafeRawBufferPointer(start: vectors[index].iov_base, count: length))
        filled += length
      }
      return body(UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    }
  }

  /// Removes the first `count` bytes of the list, which have been sent.
  @inline(__always)
  mutating func drop(_ count: Int, from list: inout FrameList) {
    if count == list.unsent { return dropAll(from: &list) }
    list.unsent -= count
    var left = count + list.sentOfFirst
    while list.first >= 0 {
      let size = entries[Int(list.first)].count
      if left < size { break }
      left -= size
      list.heldUnits &-= Self.heldUnits(of: entries[Int(list.first)])
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
  private mutating func allocateEntry() -> Int32 {
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
    let moreEntries = UnsafeMutablePointer<[UInt8]>.allocate(capacity: capacity * 2)
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
