import LockstepModel
import LockstepStorage

/// A request to the worker about chunks of files: those in the home, and those that may be named to
/// the relay.
enum ChunkTask: Hashable, Sendable {
  /// Adds a chunk whose file is complete.
  ///
  /// - Parameter isInHomeFolder: True if the home keeps its files under `ChunkFolder.home`.
  case add(HeldChunk, isInHomeFolder: Bool = false)
  case find(ChunkHash)
  /// Removes a chunk whose file is missing or damaged.
  case drop(HeldChunk)
  /// Runs one portion of the search for chunks that nothing has named for `keepMilliseconds`.
  case collect(after: ChunkHash?, keepMilliseconds: Int64)
  /// Applies the status of chunks that local changes wait for.
  case applyStatus(ChunkStatus)
  /// Retries chunks that the relay did not accept.
  case retry
  /// Asks the relay about the chunks that parked changes lack.
  case queryLackingChunks
  /// Asks the relay about the chunks that records name.
  case check
  /// Finds the files that hold no chunk, as after a crash.
  case sweep([UInt64])
}

enum ChunkTransferResult: Hashable, Sendable {
  case done
  /// `replaced`: the file that held the chunk before.
  case added(replaced: UInt64?)
  case found(HeldChunk?)
  /// Files that no longer hold a chunk, and the hash to continue after, if there is more.
  case collected([UInt64], next: ChunkHash?)
  case unknown([UInt64])
}

/// Purpose of a job about chunks.
enum ChunkJobPurpose: Hashable, Sendable {
  case add(OrderID)
  case find(OrderID)
  case downloaded(HeldChunk)
  case drop
  case applyStatus
  case retry
  case queryLackingChunks
  case check
  case collect
  case sweep(last: ChunkFile)

  /// True if the job may unblock local changes.
  var unblocksChanges: Bool {
    switch self {
    case .applyStatus, .retry, .queryLackingChunks, .check: true
    case .add, .find, .downloaded, .drop, .collect, .sweep: false
    }
  }
}

/// A portion of the requested bytes of a chunk of a file.
package struct ChunkPortion: Hashable, Sendable {
  /// Offset of the bytes in the chunk.
  package var offset: Int
  /// At most `Limits.chunkPortionBytes`; empty if the chunk has no such bytes.
  package var bytes: [UInt8]
  /// True for the last portion of the order.
  package var isLast: Bool

  package init(offset: Int, bytes: [UInt8], isLast: Bool) {
    self.offset = offset
    self.bytes = bytes
    self.isLast = isLast
  }
}

/// Progress of a chunk's transfer between the device and the relay.
package struct ChunkProgress: Hashable, Sendable {
  package enum Direction: Hashable, Sendable {
    case up
    case down
  }

  package var hash: ChunkHash
  package var direction: Direction
  package var bytesDone: Int
  /// Size of the whole chunk.
  package var bytesInAll: Int

  package init(hash: ChunkHash, direction: Direction, bytesDone: Int, bytesInAll: Int) {
    self.hash = hash
    self.direction = direction
    self.bytesDone = bytesDone
    self.bytesInAll = bytesInAll
  }
}

/// Reason that a chunk was not stored, or cannot be read.
package enum ChunkFailure: Error, Hashable, Sendable {
  /// The chunk has more than `Limits.chunkBytes`: cut the file into smaller chunks.
  case tooLarge(bytes: Int)
  /// Too many orders of this kind are in progress; wait for their reports.
  case busy
  /// The home has not joined an account.
  case notJoined
  /// Neither the device nor the relay has the chunk.
  case unavailable
  /// The file on this disk is damaged. The next order reads the chunk from the relay.
  case damaged
  /// The relay refused the request.
  case refused(Refusal)
  /// The relay cannot be reached, or the connection is too unreliable.
  case unreachable(reason: String)
  case storage(StorageError)
  /// The agent is stopping.
  case stopping
}
