import LockstepModel

/// Index of the records that have a due edit, and of its time.
struct DueIndex {
  struct Mark: Hashable, Sendable {
    var key: RecordKey
    var dueAt: Int64
    var owner: String
    var graceMilliseconds: Int64

    /// Returns the time at which this device makes the edit: its own edit at once, that of another
    /// device after a grace period, in which the owner may make it itself.
    func time(on device: String, isConnected: Bool) -> Int64 {
      guard isConnected, owner != device else { return dueAt }
      return dueAt.addingReportingOverflow(max(0, graceMilliseconds)).partialValue
    }
  }

  /// Marks ordered by key. There are few: only records that become due have one.
  private(set) var marks: [Mark] = []

  mutating func set(_ due: DueEdit?, for key: RecordKey) {
    marks.removeAll { $0.key == key }
    guard let due else { return }
    let mark = Mark(
      key: key, dueAt: due.dueAt, owner: due.owner, graceMilliseconds: due.graceMilliseconds)
    marks.insert(mark, at: marks.firstIndex { key < $0.key } ?? marks.endIndex)
  }

  /// Returns the mark that is due first, and its time. A device whose clock is not trusted makes
  /// only its own edits: with a wrong clock it would end countdowns of other devices.
  func first(on device: String, isConnected: Bool, isClockTrusted: Bool)
    -> (mark: Mark, time: Int64)?
  {
    var first: (mark: Mark, time: Int64)?
    for mark in marks where isClockTrusted || mark.owner == device {
      let time = mark.time(on: device, isConnected: isConnected)
      guard let found = first, found.time <= time else {
        first = (mark, time)
        continue
      }
    }
    return first
  }

  func times(on device: String) -> DueTimes {
    DueTimes(
      whileConnected: first(on: device, isConnected: true, isClockTrusted: true)?.time,
      whileOffline: first(on: device, isConnected: false, isClockTrusted: true)?.time,
      own: first(on: device, isConnected: false, isClockTrusted: false)?.time)
  }
}
