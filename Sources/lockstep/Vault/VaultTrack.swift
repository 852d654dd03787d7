import LockstepClient
import LockstepEventLoop
import LockstepModel

/// State of a file that the mirror keeps while it runs, with the time of the next check.
struct VaultTrack {
  enum State: String {
    /// Not checked yet.
    case unknown
    case synced
    /// Being checked, or waiting for something.
    case syncing
    case uploading
    case downloading
    /// Nothing is done until something changes; `reason` gives the reason.
    case error
  }

  var state = State.unknown
  /// Sentence for a person: the reason of the error, or of the wait.
  var reason: String?
  /// Bytes of the file, if there is one.
  var size: Int?
  /// Bytes of the current transfer.
  var bytesDone = 0
  var bytesInAll = 0

  /// Time of the next check.
  var due: Instant?
  /// True from the request of a command for a check to the start of that check. A check in progress
  /// does not know what was synced before the request, so its result is not shown.
  var isCheckAwaited = false
  /// Time at which the first of several successive writes was noticed.
  var touchedAt: Instant?
  /// Time at which the file disappeared, perhaps not for good.
  var goneSince: Instant?
  /// True if the file may have been written since it was read: unchanged times are no proof then.
  var isSuspect = false
  /// Number of successive checks that failed because the file was written meanwhile.
  var restarts = 0
  var retryMilliseconds: Int64 = 0

  /// Record that is not valid for this file, and that a person wants the file to replace.
  var overruled: Record?

  /// True until the relay has acknowledged the local change.
  var isUnsent = false
  /// Chunks that are being uploaded, with the number of their bytes that have arrived.
  var upload: [ChunkHash: Part] = [:]

  struct Part: Hashable {
    var bytes: Int
    var done = 0
  }

  mutating func wakes(at instant: Instant) { due = due.map { min($0, instant) } ?? instant }

  /// Handles an event of the file. Further events postpone the check, but not without limit.
  mutating func heard(_ kind: FileEvent.Kind, at now: Instant) {
    let first = touchedAt ?? now
    touchedAt = first
    let latest = first.advanced(milliseconds: Limits.vaultBusyMilliseconds)
    switch kind {
    case .written, .gone:
      due = min(now.advanced(milliseconds: Limits.vaultClosedMilliseconds), latest)
    case .writing, .touched:
      due = min(now.advanced(milliseconds: Limits.vaultWritingMilliseconds), latest)
    case .folderGone, .overflow, .mounts: due = now
    }
    if kind != .touched { isSuspect = true }
  }

  mutating func progressed(_ progress: ChunkProgress) -> Bool {
    guard let part = upload[progress.hash], progress.direction == .up else { return false }
    bytesDone += max(0, progress.bytesDone - part.done)
    upload[progress.hash]?.done = max(part.done, progress.bytesDone)
    return true
  }

  func json(_ entry: VaultEntry) -> JSONValue {
    func number(_ value: Int?) -> JSONValue {
      value.map { .number(JSONNumber(Int64($0))) } ?? .null
    }
    let isOver = state == .synced || state == .error
    let shown = isCheckAwaited && isOver ? .syncing : state
    let json: JSONValue = [
      "name": .string(entry.name), "path": .string(entry.path), "state": .string(shown.rawValue),
      "reason": reason.map { .string($0) } ?? .null, "size": number(size),
      "bytesDone": number(bytesDone), "bytesInAll": number(bytesInAll),
      "plain": .bool(entry.isPlain), "copy": .bool(entry.isCopy),
    ]
    return json
  }
}
