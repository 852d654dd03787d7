import LockstepModel

/// Deadlines of a node, each named by an id. Setting, moving and cancelling one costs the same for
/// any number of them, and allocates nothing once the wheel has been as full before.
///
/// A hierarchical wheel (Varghese and Lauck 1987) with ticks of one millisecond. A deadline is
/// rounded up to its tick, so a timer is never early and less than 1 ms late. Level 0 holds the
/// ticks that share all but their last six bits with `position`, level 1 those that share all but
/// their last twelve, and so on. A slot holds its timers in the order in which they were set. When
/// `position` enters a slot of a higher level, its timers move down, in order:
///
///     tick   … | 6 bits | 6 bits | 6 bits |
///                level 2  level 1  level 0      each level: 64 slots and a bitmap of the slots
///                                               that are not empty
///
/// The order is fixed: by tick, then by the order of `schedule`.
@usableFromInline
package struct TimerWheel<ID: IndexedKey & Sendable>: Sendable {
  @usableFromInline
  struct Entry: Sendable {
    // In an order without gaps: each connection has an entry.
    @usableFromInline var id: ID
    /// Index of the entry's slot, counted over all levels.
    @usableFromInline var slot: UInt16 = 0
    @usableFromInline var previous: Int32 = -1
    /// Index of the next entry in its slot, or in the list of free entries.
    @usableFromInline var next: Int32 = -1
    @usableFromInline var tick: Int64 = 0

    @inlinable init(id: ID) { self.id = id }
  }

  @usableFromInline
  struct Slot: Sendable {
    @usableFromInline var first: Int32 = -1
    @usableFromInline var last: Int32 = -1

    @inlinable init() {}
  }

  @usableFromInline var entries: [Entry] = []
  @usableFromInline var firstFree: Int32 = -1
  /// Entries of the timers that are set, by id.
  @usableFromInline var places = PositionIndex()
  @usableFromInline var slots: [Slot]
  /// Bitmap of the non-empty slots of each level.
  @usableFromInline var occupied: [UInt64]
  /// Tick up to which all timers have expired. Never goes back.
  @usableFromInline var position: Int64 = 0

  /// Eight levels of six bits: more milliseconds than an `Instant` has.
  @inlinable static var levels: Int { 8 }
  /// Number of timers of one slot that `next` examines before it returns the slot's start instead.
  @inlinable static var examinedMax: Int { 32 }

  @inlinable package init() {
    slots = Array(repeating: Slot(), count: 64 * Self.levels)
    occupied = Array(repeating: 0, count: Self.levels)
  }

  /// Number of timers that are set.
  @inlinable package var count: Int { places.count }

  /// Sets the timer `id`, or moves it. A deadline in the past expires at the next `popExpired`,
  /// after the timers of the same tick.
  @inlinable package mutating func schedule(_ id: ID, at deadline: Instant) {
    let tick = max(Self.tick(notBefore: deadline), position)
    if let place = place(of: id) {
      unlink(place)
      link(place, tick: tick)
    } else {
      let place = newEntry(id)
      addToIndex(place)
      link(place, tick: tick)
    }
  }

  /// Cancels the timer `id`, if it is set.
  @inlinable package mutating func cancel(_ id: ID) {
    if let place = place(of: id) { remove(place) }
  }

  /// Removes and returns the first timer whose deadline is not after `now`; nil if there is none.
  /// Call it until it returns nil.
  @inlinable package mutating func popExpired(at now: Instant) -> ID? {
    let target = Self.tick(notAfter: now)
    while let (level, slot) = firstOccupied {
      let start = beginning(of: slot, level: level)
      guard start <= target else { break }
      position = start
      guard level == 0 else {
        cascade(slot: slot, level: level)
        continue
      }
      let place = slots[slot].first
      let id = entries[Int(place)].id
      remove(place)
      return id
    }
    position = max(position, target)
    return nil
  }

  /// Time at which to call `popExpired` next; nil if no timer is set. This is the next deadline,
  /// rounded up to its tick. It is earlier only if very many timers are close together and far
  /// ahead, so that they can be moved to lower levels; then nothing expires yet.
  @inlinable package var next: Instant? {
    guard let (level, slot) = firstOccupied else { return nil }
    let start = beginning(of: slot, level: level)
    guard level > 0 else { return Self.instant(start) }
    var earliest = Int64.max
    var place = slots[slot].first
    for _ in 0..<Self.examinedMax {
      earliest = min(earliest, entries[Int(place)].tick)
      place = entries[Int(place)].next
      if place < 0 { return Self.instant(earliest) }
    }
    return Self.instant(start)
  }

  // MARK: ticks and slots

  /// The slot with the earliest timers: a lower level is always before a higher one.
  @inlinable var firstOccupied: (level: Int, slot: Int)? {
    for level in 0..<Self.levels where occupied[level] != 0 {
      return (level, level * 64 + occupied[level].trailingZeroBitCount)
    }
    return nil
  }

  @inlinable func beginning(of slot: Int, level: Int) -> Int64 {
    let shift = Int64(6 * level)
    let above = (position >> (shift + 6)) << (shift + 6)
    return above | (Int64(slot & 63) << shift)
  }

  /// Moves the timers of a slot that `position` has entered to the levels below.
  @inlinable mutating func cascade(slot: Int, level: Int) {
    var place = slots[slot].first
    slots[slot] = Slot()
    occupied[level] &= ~(1 << UInt64(slot & 63))
    while place >= 0 {
      let following = entries[Int(place)].next
      link(place, tick: entries[Int(place)].tick)
      place = following
    }
  }

  @inlinable static func tick(notBefore instant: Instant) -> Int64 {
    let tick = instant.nanoseconds / 1_000_000
    return tick * 1_000_000 < instant.nanoseconds ? tick + 1 : tick
  }

  @inlinable static func tick(notAfter instant: Instant) -> Int64 {
    instant.nanoseconds / 1_000_000
  }

  @inlinable static func instant(_ tick: Int64) -> Instant {
    let (nanoseconds, overflow) = tick.multipliedReportingOverflow(by: 1_000_000)
    return Instant(nanoseconds: overflow ? Int64.max : nanoseconds)
  }

  // MARK: entries

  @inlinable func place(of id: ID) -> Int32? {
    places.position(of: id) { entries[$0].id }.map { Int32($0) }
  }

  @inlinable mutating func remove(_ place: Int32) {
    unlink(place)
    removeFromIndex(place)
    entries[Int(place)].next = firstFree
    firstFree = place
  }

  // The closures get a copy of `entries`, which is released before `entries` changes.
  @inlinable mutating func addToIndex(_ place: Int32) {
    let entries = entries
    places.insert(Int(place)) { entries[$0].id }
  }

  @inlinable mutating func removeFromIndex(_ place: Int32) {
    let entries = entries
    places.remove(Int(place)) { entries[$0].id }
  }

  @inlinable mutating func link(_ place: Int32, tick: Int64) {
    // The highest bit that differs between the tick and `position` gives the level.
    let difference = UInt64(bitPattern: tick ^ position)
    let level = difference == 0 ? 0 : (63 - difference.leadingZeroBitCount) / 6
    let index = Int(tick >> Int64(6 * level)) & 63
    let slot = level * 64 + index
    let last = slots[slot].last
    entries[Int(place)].tick = tick
    entries[Int(place)].slot = UInt16(slot)
    entries[Int(place)].previous = last
    entries[Int(place)].next = -1
    if last >= 0 { entries[Int(last)].next = place } else { slots[slot].first = place }
    slots[slot].last = place
    occupied[level] |= 1 << UInt64(index)
  }

  @inlinable mutating func unlink(_ place: Int32) {
    let (previous, next) = (entries[Int(place)].previous, entries[Int(place)].next)
    let slot = Int(entries[Int(place)].slot)
    if previous >= 0 { entries[Int(previous)].next = next } else { slots[slot].first = next }
    if next >= 0 { entries[Int(next)].previous = previous } else { slots[slot].last = previous }
    if slots[slot].first < 0 { occupied[slot / 64] &= ~(1 << UInt64(slot & 63)) }
  }

  @inlinable mutating func newEntry(_ id: ID) -> Int32 {
    guard firstFree >= 0 else {
      entries.append(Entry(id: id))
      return Int32(entries.count - 1)
    }
    let place = firstFree
    firstFree = entries[Int(place)].next
    entries[Int(place)].id = id
    return place
  }
}
