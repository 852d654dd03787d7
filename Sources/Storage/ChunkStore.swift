public import Changes

/// Where the bytes of pieces of files lie, on a relay and in a device's home. Knows files only:
/// which account has which piece, and for how long, is the `ZoneStore`'s to say.
///
/// A file is written piece by piece and is nothing until `finish` has found that it holds what it
/// should; what a crash leaves unfinished is gone when the store is opened anew.
public protocol ChunkStore: AnyObject {
  /// Blocks for as long as the disk takes.
  func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult
}

public enum ChunkRequest: Sendable, Hashable {
  /// Adds bytes to the end of a file that is being written; the first ones begin it.
  case append(ChunkFile, [UInt8])
  /// The file is whole: it stands from here on, and durably, if its bytes have this hash.
  case finish(ChunkFile, expecting: ChunkHash)
  /// At most `count` bytes from `offset` on; fewer at the file's end.
  case read(ChunkFile, offset: Int, count: Int)
  /// The files are gone, whole ones and unfinished ones. One that is not there is passed over.
  case remove([ChunkFile])
  case removeAll(of: AccountID)
  /// Whole files, in some fixed order, after the one named: for the sweep after a crash.
  case list(after: ChunkFile?, limit: Int)
}

public enum ChunkResult: Sendable, Hashable {
  case done
  case bytes([UInt8])
  case files([ChunkFile])
  /// `hashMismatch`, with which the unfinished file is gone; `notFound` for a file that is not
  /// there; `bodyTooLarge` beyond `Limits.chunkBytes`.
  case refused(Refusal)
}
