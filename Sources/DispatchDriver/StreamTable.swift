import LockstepRuntime

/// Open streams of a driver, and the bytes of each that the system has not accepted yet.
struct StreamTable {
  private struct Entry {
    let stream: any ByteStream
    var unsent = 0
    /// True if bytes were sent since the node was last told how many wait.
    var isDirty = false
  }

  private var entries: [ConnectionID: Entry] = [:]

  var isEmpty: Bool { entries.isEmpty }

  func contains(_ id: ConnectionID) -> Bool { entries[id] != nil }

  mutating func add(_ stream: any ByteStream, _ id: ConnectionID) {
    entries[id] = Entry(stream: stream)
  }

  mutating func send(_ bytes: [UInt8], to id: ConnectionID) {
    guard let stream = entries[id]?.stream else { return }
    entries[id]?.unsent += bytes.count
    entries[id]?.isDirty = true
    stream.send(bytes)
  }

  func setReading(_ id: ConnectionID, isPaused: Bool) {
    entries[id]?.stream.setReading(isPaused: isPaused)
  }

  /// Forgets a stream that has ended.
  mutating func remove(_ id: ConnectionID) { entries[id] = nil }

  mutating func close(_ id: ConnectionID, _ manner: CloseManner) {
    entries.removeValue(forKey: id)?.stream.close(manner)
  }

  mutating func closeAll() {
    for id in entries.keys.sorted() { close(id, .now) }
  }

  // MARK: unsent bytes

  /// The first stream to which bytes were sent since `unsent(of:)`.
  var firstDirtyID: ConnectionID? { entries.filter(\.value.isDirty).keys.min() }

  mutating func markSent(_ count: Int, of id: ConnectionID) { entries[id]?.unsent -= count }

  /// Returns the number of bytes that wait, for the node.
  mutating func unsent(of id: ConnectionID) -> Int? {
    entries[id]?.isDirty = false
    return entries[id]?.unsent
  }
}
