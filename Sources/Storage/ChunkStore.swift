public import LockstepModel

/// Where the bytes of chunks of files lie, on a relay and in a device's home. Knows files only:
/// which account has which chunk, and for how long, is the `ZoneStore`'s to say.
///
/// A file is written chunk by chunk and is nothing until `finish` has found that it holds what it
/// should; what a crash leaves unfinished is gone when the store is opened anew.
public protocol ChunkStore: AnyObject {
  /// Blocks for as long as the disk takes. Throws where the disk fails; a file that was being
  /// written is gone then.
  func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult
}

public enum ChunkRequest: Sendable, Hashable {
  /// Adds bytes to the end of a file that is being written; the first ones, or none, begin it.
  case append(ChunkFile, [UInt8])
  /// The file is whole: it stands from here on, and durably, if its bytes have this hash.
  case finish(ChunkFile, expecting: ChunkHash)
  /// At most `count` bytes from `offset` on, of a whole file; fewer at its end.
  case read(ChunkFile, offset: Int, count: Int)
  /// The files are gone, whole ones and unfinished ones. One that is not there is passed over.
  case remove([ChunkFile])
  case removeAll(of: AccountID)
  /// Files that stood whole when the store was opened, in their order, after the one named: for the
  /// sweep after a crash, which must not meet what is being uploaded meanwhile. Those up to the one
  /// named are not told again.
  case list(after: ChunkFile?, limit: Int)
}

public enum ChunkResult: Sendable, Hashable {
  case done
  case bytes([UInt8])
  case files([ChunkFile])
  /// `hashMismatch`, and `bodyTooLarge` beyond `Limits.chunkBytes`, with which the unfinished file
  /// is gone; `notFound` for a file that is not there; `overloaded` where as many files are being
  /// written as may be.
  case refused(Refusal)
}
