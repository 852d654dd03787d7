import LockstepModel
import LockstepStorage

/// Some bytes of a chunk of a file, of those that were asked for.
public struct ChunkPortion: Hashable, Sendable {
  /// Where they stand in the chunk.
  public var offset: Int
  /// At most `Limits.chunkPortionBytes`; none where the chunk has no such bytes.
  public var bytes: [UInt8]
  /// Nothing more comes of this order.
  public var isLast: Bool

  public init(offset: Int, bytes: [UInt8], isLast: Bool) {
    self.offset = offset
    self.bytes = bytes
    self.isLast = isLast
  }
}

/// How far a chunk is on its way between the device and the relay.
public struct ChunkProgress: Hashable, Sendable {
  public enum Direction: Hashable, Sendable {
    case up
    case down
  }

  public var hash: ChunkHash
  public var direction: Direction
  public var bytesDone: Int
  /// Of the whole chunk.
  public var bytesInAll: Int

  public init(hash: ChunkHash, direction: Direction, bytesDone: Int, bytesInAll: Int) {
    self.hash = hash
    self.direction = direction
    self.bytesDone = bytesDone
    self.bytesInAll = bytesInAll
  }
}

/// Why a chunk was not stored, or cannot be read.
public enum ChunkFailure: Error, Hashable, Sendable {
  /// It has more than `Limits.chunkBytes`: cut the file smaller.
  case tooLarge(bytes: Int)
  /// As many orders of this kind are under way as an agent takes; wait for their reports.
  case busy
  /// The home has not joined an account.
  case notJoined
  /// Neither the device nor the relay has it.
  case nowhere
  /// What lies on this disk is not what was put there. The next order reads it from the relay.
  case damaged
  /// The relay said so.
  case refused(Refusal)
  /// The relay cannot be reached, or the way to it is too bad.
  case unreachable(reason: String)
  case storage(StorageError)
  /// The agent is stopping.
  case stopping
}
