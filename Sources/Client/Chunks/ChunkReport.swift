import LockstepModel
import LockstepStorage

/// A portion of the requested bytes of a chunk of a file.
public struct ChunkPortion: Hashable, Sendable {
  /// Offset of the bytes in the chunk.
  public var offset: Int
  /// At most `Limits.chunkPortionBytes`; empty if the chunk has no such bytes.
  public var bytes: [UInt8]
  /// True for the last portion of the order.
  public var isLast: Bool

  public init(offset: Int, bytes: [UInt8], isLast: Bool) {
    self.offset = offset
    self.bytes = bytes
    self.isLast = isLast
  }
}

/// Progress of a chunk's transfer between the device and the relay.
public struct ChunkProgress: Hashable, Sendable {
  public enum Direction: Hashable, Sendable {
    case up
    case down
  }

  public var hash: ChunkHash
  public var direction: Direction
  public var bytesDone: Int
  /// Size of the whole chunk.
  public var bytesInAll: Int

  public init(hash: ChunkHash, direction: Direction, bytesDone: Int, bytesInAll: Int) {
    self.hash = hash
    self.direction = direction
    self.bytesDone = bytesDone
    self.bytesInAll = bytesInAll
  }
}

/// Reason that a chunk was not stored, or cannot be read.
public enum ChunkFailure: Error, Hashable, Sendable {
  /// The chunk has more than `Limits.chunkBytes`: cut the file into smaller chunks.
  case tooLarge(bytes: Int)
  /// Too many orders of this kind are in progress; wait for their reports.
  case busy
  /// The home has not joined an account.
  case notJoined
  /// Neither the device nor the relay has the chunk.
  case nowhere
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
