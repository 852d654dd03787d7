import LockstepClient
import LockstepEventLoop
import LockstepModel

/// What the mirror knows of a file for as long as it runs: where it stands, and when to look at it.
struct VaultTrack {
  enum State: String {
    /// It was not looked at yet.
    case unknown
    case synced
    /// It is being looked at, or waits for something.
    case syncing
    case uploading
    case downloading
    /// Nothing is done until something changes; `reason` says what.
    case error
  }

  var state = State.unknown
  /// A sentence for a person: why it is in error, or what it waits for.
  var reason: String?
  /// Of the file, where there is one.
  var size: Int?
  /// Of what is on its way.
  var bytesDone = 0
  var bytesInAll = 0

  /// When to look at it.
  var due: Instant?
  /// When the first of a row of writes was noticed.
  var touchedAt: Instant?
  /// Since when the file is gone, which may not be for good.
  var goneSince: Instant?
  /// Somebody wrote since it was read: its times alone say nothing.
  var isSuspect = false
  /// Looks in a row that came to nothing because somebody wrote meanwhile.
  var restarts = 0
  var retryMilliseconds: Int64 = 0

  /// A record that does not stand for this file, in whose place a person wants the file.
  var overruled: Record?

  /// The relay has not acknowledged what was changed here.
  var isUnsent = false
  /// Chunks on their way up, and how many of their bytes have arrived.
  var upload: [ChunkHash: Part] = [:]

  struct Part: Hashable {
    var bytes: Int
    var done = 0
  }

  mutating func wakes(at instant: Instant) { due = due.map { min($0, instant) } ?? instant }

  /// What was heard of the file: later words put the look off, but not for ever.
  mutating func heard(_ kind: FileEvent.Kind, at now: Instant) {
    let first = touchedAt ?? now
    touchedAt = first
    switch kind {
    case .written, .gone:
      due = now.advanced(milliseconds: Limits.vaultClosedMilliseconds)
    case .writing, .touched:
      due = min(
        now.advanced(milliseconds: Limits.vaultWritingMilliseconds),
        first.advanced(milliseconds: Limits.vaultBusyMilliseconds))
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
    let json: JSONValue = [
      "name": .string(entry.name), "path": .string(entry.path), "state": .string(state.rawValue),
      "reason": reason.map { .string($0) } ?? .null, "size": number(size),
      "bytesDone": number(bytesDone), "bytesInAll": number(bytesInAll),
      "plain": .bool(entry.isPlain), "copy": .bool(entry.isCopy),
    ]
    return json
  }
}
