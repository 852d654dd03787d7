import LockstepModel

/// Which records wait for a moment in time, and for which.
struct DueIndex {
  struct Mark: Hashable, Sendable {
    var key: RecordKey
    var dueAt: Int64
    var owner: String
    var graceMilliseconds: Int64

    /// When this device makes the edit: its own at once, another's after a while, in which that
    /// one may do it itself.
    func time(on device: String, isConnected: Bool) -> Int64 {
      guard isConnected, owner != device else { return dueAt }
      return dueAt.addingReportingOverflow(max(0, graceMilliseconds)).partialValue
    }
  }

  /// By key. Few: only what runs down stands here.
  private(set) var marks: [Mark] = []

  mutating func set(_ due: DueEdit?, for key: RecordKey) {
    marks.removeAll { $0.key == key }
    guard let due else { return }
    let mark = Mark(
      key: key, dueAt: due.dueAt, owner: due.owner, graceMilliseconds: due.graceMilliseconds)
    marks.insert(mark, at: marks.firstIndex { key < $0.key } ?? marks.endIndex)
  }

  /// The mark whose time comes first, and when. A device whose clock is not trusted makes its own
  /// edits alone: by a wrong clock it would end what runs elsewhere.
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
