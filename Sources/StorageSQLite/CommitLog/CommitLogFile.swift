import CSQLite
import LockstepModel
import LockstepStorage
import LockstepStorageFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The file `zones.commitlog` of a relay's store: accepted saves, in blocks of one commit each.
///
///     block       magic 4 · checksum 4 · length 4 · zero 4 · epoch 8 · sequence 8 · saves
///     checksum    over all that follows it, up to the end of the saves
///     length      of the saves, in bytes
///     epoch       the store's opening number (`StoreOpening`)
///     sequence    one more than that of the block, or of the transaction, before
///
/// The database holds the epoch, and a sequence: that of its last transaction, which takes the next
/// one, and contains all blocks up to it. Blocks of another epoch, or up to that sequence, are
/// ignored. After each transaction the next block is written at the beginning of the file again,
/// over older ones. So the valid blocks are those from the beginning whose sequences are
/// consecutive; all bytes that follow are older, or were not written completely and never
/// acknowledged.
///
/// The file has more space than blocks, all of it written before: a sync then writes data only,
/// no change of the file's length.
final class CommitLogFile {
  /// A block that was read.
  private struct Block {
    var epoch: UInt64
    var sequence: Int64
    var saves: [LoggedSave]
  }

  /// Blocks that the database lacks.
  struct MissingBlocks {
    var saves: [LoggedSave]
    /// Last sequence that the database contains with them.
    var sequence: Int64
    /// True if a block is missing between the database and the log: the database is an older copy.
    var hasGap: Bool
  }

  static let name = "zones.commitlog"
  private static let magic: UInt32 = 0x3142_534C
  private static let headerBytes = 32

  private let path: String
  private let descriptor: Int32
  private var epoch: UInt64
  /// Last sequence in use: of a block, or of a transaction.
  private(set) var sequence: Int64
  /// Position of the next block.
  private var offset = 0
  /// Length of the file.
  private var size: Int
  private var block: [UInt8] = []

  /// Opens or creates the file in the store's directory. The next block is written at its
  /// beginning: the database must contain all that is in it. `sequence`: that of the last block
  /// that the database contains.
  init(directory: String, epoch: UInt64, sequence: Int64) throws(StorageError) {
    path = directory + "/" + CommitLogFile.name
    let flags = O_RDWR | O_CREAT
    let opened = try StoreFile.open(
      CommitLogFile.name, in: directory, flags, "open its commit log")
    guard let opened else {
      throw StorageError(errno: ENOENT, path: path, operation: "open its commit log")
    }
    descriptor = opened
    self.epoch = epoch
    self.sequence = sequence
    var status = stat()
    size = fstat(opened, &status) == 0 ? Int(status.st_size) : 0
    try DirectoryLock.sync(directory)
  }

  deinit { close(descriptor) }

  // MARK: Writing

  /// Appends a block. It is durable after `sync`. Returns false if there is no room for it.
  func append(_ saves: ArraySlice<LoggedSave>) throws(StorageError) -> Bool {
    block.removeAll(keepingCapacity: true)
    block.append(integer: CommitLogFile.magic)
    block.append(contentsOf: repeatElement(0, count: 12))
    block.append(integer: epoch)
    block.append(integer: sequence + 1)
    for save in saves { save.encode(into: &block) }
    let length = UInt32(truncatingIfNeeded: block.count - CommitLogFile.headerBytes)
    block.replace(integer: length, at: 8)
    block.replace(integer: CommitLogFile.checksum(block, from: 8), at: 4)
    guard offset + block.count <= Limits.commitLogBytes else { return false }
    if offset + block.count > size { extend(by: block.count) }
    try write(block, at: offset)
    offset += block.count
    size = max(size, offset)
    sequence += 1
    return true
  }

  /// Makes the last block durable. Returns the duration in nanoseconds, if it is known.
  func sync() throws(StorageError) -> Int64? {
    #if os(Linux)
      let begun = lockstep_nanoseconds()
      let isDurable = fdatasync(descriptor) == 0
      let nanoseconds: Int64? = lockstep_nanoseconds() - begun
    #else
      let isDurable = FileSync.flush(descriptor)
      let nanoseconds: Int64? = nil
    #endif
    guard isDurable else {
      throw StorageError(errno: errno, path: path, operation: "sync its commit log")
    }
    return nanoseconds
  }

  /// Returns a sequence that no block has, for a transaction of the database.
  func nextSequence() -> Int64 {
    sequence += 1
    return sequence
  }

  /// Begins at the start of the file again. The database contains all blocks, and is durable.
  /// `epoch`: the store's opening number from now on, if it has changed.
  func restart(epoch: UInt64? = nil) {
    self.epoch = epoch ?? self.epoch
    offset = 0
  }

  func remove() { unlink(path) }

  /// Writes zeros beyond the block that comes next. Not on a disk that is small or almost full, and
  /// after an error the file is as usable as before.
  private func extend(by bytes: Int) {
    let end = min(Limits.commitLogBytes, offset + bytes + Limits.commitLogStep)
    var space = statvfs()
    guard fstatvfs(descriptor, &space) == 0,
      UInt64(space.f_bavail) * UInt64(space.f_frsize) >= UInt64(Limits.commitLogBytes) << 3
    else { return }
    let zeros = [UInt8](repeating: 0, count: 1 << 16)
    while size < end {
      let count = zeros.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress, min($0.count, end - size), off_t(size))
      }
      guard count > 0 else { return }
      size += count
    }
  }

  private func write(_ bytes: [UInt8], at offset: Int) throws(StorageError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        pwrite(
          descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written,
          off_t(offset + written))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw StorageError(errno: errno, path: path, operation: "write its commit log")
      }
      written += count
    }
  }

  // MARK: Reading

  /// Returns the content of a store's log; empty if it has none.
  static func content(in directory: String) throws(StorageError) -> [UInt8] {
    let operation = "read its commit log"
    guard let descriptor = try StoreFile.open(name, in: directory, O_RDONLY, operation) else {
      return []
    }
    defer { close(descriptor) }
    var content: [UInt8] = []
    while content.count <= Limits.commitLogBytes {
      var count = 0
      let part = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, filled in
        repeat {
          count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(content.count))
        } while count < 0 && errno == EINTR
        filled = max(0, count)
      }
      guard count >= 0 else {
        throw StorageError(
          errno: errno, path: directory + "/" + name, operation: operation)
      }
      if part.isEmpty { break }
      content += part
    }
    return content
  }

  /// Returns the blocks that a database lacks. `sequence`: the last one that it contains. `path`:
  /// for the error.
  static func missingBlocks(
    of content: [UInt8], epoch: UInt64, after sequence: Int64, path: String
  ) throws(StorageError) -> MissingBlocks {
    var missing = MissingBlocks(saves: [], sequence: sequence, hasGap: false)
    var position = 0
    var previous: Int64?
    while let block = try block(in: content, at: &position, path), block.epoch == epoch {
      if let previous, block.sequence &- 1 != previous { break }
      previous = block.sequence
      if block.sequence <= sequence { continue }
      guard block.sequence &- 1 == missing.sequence else {
        missing.hasGap = true
        break
      }
      missing.saves += block.saves
      missing.sequence = block.sequence
    }
    return missing
  }

  /// Reads the block at a position, and moves the position behind it. Returns nil if there is none.
  /// Throws if a block that was written completely cannot be read: it may be acknowledged.
  private static func block(
    in content: [UInt8], at position: inout Int, _ path: String
  ) throws(StorageError) -> Block? {
    var header = CommitLogReader(content, position..<content.count)
    guard header.integer(UInt32.self) == magic, let sum = header.integer(UInt32.self),
      let length = header.integer(UInt32.self), header.integer(UInt32.self) == 0,
      let epoch = header.integer(UInt64.self), let sequence = header.integer(Int64.self)
    else { return nil }
    let end = position + headerBytes + Int(length)
    guard end <= content.count, sequence < .max,
      checksum(content, from: position + 8, to: end) == sum
    else { return nil }
    var reader = CommitLogReader(content, header.position..<end)
    var saves: [LoggedSave] = []
    while !reader.isAtEnd {
      guard let save = LoggedSave(from: &reader) else {
        throw .corrupt(path: path, detail: "its commit log holds a save that cannot be read")
      }
      saves.append(save)
    }
    position = end
    return Block(epoch: epoch, sequence: sequence, saves: saves)
  }

  /// Returns a checksum that a block written in part, or over an older one, fails: FNV-1a over
  /// words of eight bytes, folded.
  private static func checksum(_ bytes: [UInt8], from start: Int, to end: Int? = nil) -> UInt32 {
    let end = end ?? bytes.count
    return bytes.withUnsafeBytes { buffer in
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      var index = start
      while index + 8 <= end {
        let word = UInt64(
          littleEndian: buffer.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        hash = (hash ^ word) &* 0x0000_0100_0000_01B3
        hash ^= hash >> 29
        index += 8
      }
      while index < end {
        hash = (hash ^ UInt64(buffer[index])) &* 0x0000_0100_0000_01B3
        index += 1
      }
      hash ^= hash >> 32
      return UInt32(truncatingIfNeeded: hash)
    }
  }
}

extension [UInt8] {
  /// Overwrites four bytes at a position with an integer, the lowest byte first.
  fileprivate mutating func replace(integer value: UInt32, at position: Int) {
    withUnsafeMutableBytes {
      $0.storeBytes(of: value.littleEndian, toByteOffset: position, as: UInt32.self)
    }
  }
}
