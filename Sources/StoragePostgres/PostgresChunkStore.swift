import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Chunks of files in the database of the zones, for one thread of one relay; several relays share
/// them.
///
///     files        account · number · owner · bytes · finished_at     a row a file
///     file_parts   account · number · part · bytes                    128 KiB each, but the last
///
/// A part is written as soon as its bytes are there, so that memory holds no more than one of each
/// upload; a read by offset touches the parts that it needs. Parts of an unfinished file need not
/// survive a crash, so nobody waits for the disk (`synchronous_commit` off) until the commit that
/// makes the file whole, which makes all of the log before it durable.
///
/// An unfinished file has an owner: a random number, of which the session holds the advisory lock
/// for as long as it lives. So a relay that is gone, however it went, has let go of it, by no
/// clock and no lease that would have to be renewed, and others may remove what it left. Who loses
/// the connection loses the uploads with it, and goes on under another number.
package final class PostgresChunkStore: ChunkStore {
  /// A file that is being written.
  private struct Upload {
    var hash = SHA256()
    var count = 0
    var parts: Int64 = 0
    /// Bytes that make no part yet.
    var tail: [UInt8] = []
  }

  private let connection: PostgresConnection
  private let uploadLimit: Int
  private var uploads: [ChunkFile: Upload] = [:]
  /// Under which unfinished files are ours, in this session.
  private var owner: UInt64 = 0
  private var ownedSession = 0
  /// Uploads that began since what others left was looked for.
  private var begun = 0
  /// Files that were whole before this are told by `list`: the server's clock, in microseconds.
  private var listedBefore: Int64 = 0
  /// What was listed is not told again.
  private var passed: ChunkFile?

  /// Opens the store, and makes or upgrades the tables where that is needed.
  ///
  /// `uploads`: how many files may be written at a time. `strayMilliseconds`: how old a whole file
  /// must be to be listed: another relay may have received it just now, and be about to write down
  /// whose it is. `restored`: as of `PostgresZoneStore`.
  package convenience init(
    _ address: PostgresAddress, uploads: Int = Limits.uploads,
    strayMilliseconds: Int64 = Limits.strayFileMilliseconds,
    restored: (@Sendable () -> Void)? = nil
  ) throws(StorageError) {
    try self.init(
      address, uploads: uploads, strayMilliseconds: strayMilliseconds,
      greeting: StoreOpening.greeting(restored))
  }

  /// `greeting`: as a session of it is begun; nil where the store is being moved, and its tables
  /// are looked after by whoever moves it.
  init(
    _ address: PostgresAddress, uploads: Int = Limits.uploads,
    strayMilliseconds: Int64 = Limits.strayFileMilliseconds,
    greeting: PostgresConnection.Greeting?
  ) throws(StorageError) {
    uploadLimit = uploads
    let connection = PostgresConnection(address)
    self.connection = connection
    connection.greeting = greeting
    listedBefore = try connection.perform("open") { () throws(PostgresFault) in
      let now = try connection.run(FileStatements.now).first { $0.integer(0) } ?? 0
      return now - strayMilliseconds * 1_000
    }
    try connection.perform("open") { () throws(PostgresFault) in try own() }
  }

  /// What is asked afterwards fails; what was unfinished is anyone's to remove.
  package func close() { connection.close() }

  package func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult {
    let isGoingOn = request.written.map { uploads[$0] != nil } ?? false
    do throws(StorageError) {
      return try connection.perform(request.operation) { () throws(PostgresFault) in
        try own()
        if isGoingOn, let file = request.written, uploads[file] == nil {
          throw PostgresFault(
            cause: .late, message: "the connection was lost, and with it what was being uploaded")
        }
        return switch request {
        case .append(let file, let bytes): try append(bytes, to: file)
        case .finish(let file, let hash): try finish(file, expecting: hash)
        case .read(let file, let offset, let count):
          try read(file, offset: offset, count: count)
        case .remove(let files): try remove(files)
        case .removeAll(let account): try removeAll(of: account)
        case .list(let file, let limit): try list(after: file, limit: limit)
        }
      }
    } catch {
      // A file that was being written is gone where a write of it failed.
      if let file = request.written { uploads[file] = nil }
      throw error
    }
  }

  // MARK: Owning

  /// Takes a number in a session that has none, and removes what nobody owns any more.
  private func own() throws(PostgresFault) {
    guard ownedSession != connection.openings else { return }
    uploads = [:]
    owner = try StoreOpening.draw(connection).random
    _ = try connection.run(FileStatements.own, PostgresParameters().bind(owner))
    ownedSession = connection.openings
    try sweep()
  }

  private func sweep() throws(PostgresFault) {
    begun = 0
    let owners = try connection.run(FileStatements.owners, PostgresParameters().bind(owner)).all {
      $0.bits(0)
    }
    for former in owners {
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      // For the length of the transaction: who owns it still has it for the length of a session.
      let lock = pipeline.add(FileStatements.lockOwner, PostgresParameters().bind(former))
      let rows = try connection.run(pipeline)
      var last = PostgresPipeline()
      if rows[lock].first({ $0.bool(0) }) ?? false {
        last.add(FileStatements.removeOwned, PostgresParameters().bind(former))
      }
      let commit = last.add(.commit)
      _ = try connection.run(last, commit: commit)
    }
  }

  // MARK: Writing

  private func append(_ bytes: [UInt8], to file: ChunkFile) throws(PostgresFault) -> ChunkResult {
    if uploads[file] == nil {
      guard uploads.count < uploadLimit else { return .refused(StoreRefusals.tooManyUploads) }
      begun += 1
      if begun >= uploadLimit { try sweep() }
      guard try hastily(FileStatements.begin, of(file).bind(owner)).written == 1 else {
        return .refused(StoreRefusals.taken)
      }
      uploads[file] = Upload()
    }
    guard bytes.count <= Limits.chunkBytes - (uploads[file]?.count ?? 0) else {
      try drop(file)
      return .refused(StoreRefusals.chunkTooLarge)
    }
    uploads[file]?.hash.update(bytes)
    uploads[file]?.count += bytes.count
    uploads[file]?.tail += bytes
    while let upload = uploads[file], upload.tail.count >= Limits.chunkPortionBytes {
      let part = of(file).bind(upload.parts).bind(
        Array(upload.tail.prefix(Limits.chunkPortionBytes)))
      guard try hastily(FileStatements.addPart, part.bind(owner)).written == 1 else {
        // The account was removed meanwhile.
        uploads[file] = nil
        return .refused(StoreRefusals.unknownChunk)
      }
      uploads[file]?.parts += 1
      uploads[file]?.tail.removeFirst(Limits.chunkPortionBytes)
    }
    return .done
  }

  private func finish(
    _ file: ChunkFile, expecting hash: ChunkHash
  ) throws(PostgresFault) -> ChunkResult {
    guard let upload = uploads[file] else { return .refused(StoreRefusals.unknownChunk) }
    guard upload.hash.finish() == hash.bytes else {
      // A hash is made once: the file must not be met again, whatever becomes of its removal.
      uploads[file] = nil
      try removeRows(of: [file])
      return .refused(StoreRefusals.hashMismatch)
    }
    uploads[file] = nil
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    let finished = pipeline.add(
      FileStatements.finish,
      of(file).bind(upload.parts).bind(upload.tail).bind(owner).bind(Int64(upload.count)))
    let commit = pipeline.add(.commit)
    let rows: [PostgresRows]
    do throws(PostgresFault) {
      rows = try connection.run(pipeline, commit: commit)
    } catch {
      // It would begin anew, and find no upload.
      var fault = error
      fault.isUnknown = fault.isUnknown || fault.mayRepeat
      throw fault
    }
    return rows[finished].count == 1 ? .done : .refused(StoreRefusals.unknownChunk)
  }

  /// A commit that need not be durable.
  private func hastily(
    _ statement: PostgresStatement, _ parameters: PostgresParameters
  ) throws(PostgresFault) -> PostgresRows {
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    pipeline.add(FileStatements.hasty)
    let step = pipeline.add(statement, parameters)
    let commit = pipeline.add(.commit)
    return try connection.run(pipeline, commit: commit)[step]
  }

  /// The unfinished file is gone.
  private func drop(_ file: ChunkFile) throws(PostgresFault) {
    uploads[file] = nil
    try removeRows(of: [file])
  }

  // MARK: Reading

  private func read(
    _ file: ChunkFile, offset: Int, count: Int
  ) throws(PostgresFault) -> ChunkResult {
    let size = Int64(Limits.chunkPortionBytes)
    let (start, end) = (Int64(max(0, offset)), Int64(max(0, offset)) + Int64(max(0, count)))
    let rows = try connection.read { pipeline in
      pipeline.add(FileStatements.isWhole, of(file))
      pipeline.add(
        FileStatements.parts,
        of(file).bind(start / size).bind((end - 1) / size).bind(start)
          .bind(end))
    }
    guard rows[0].count == 1 else { return .refused(StoreRefusals.unknownChunk) }
    guard end > start else { return .bytes([]) }
    return .bytes(rows[1].all { $0.bytes(0) }.flatMap { $0 })
  }

  // MARK: Removing

  private func remove(_ files: [ChunkFile]) throws(PostgresFault) -> ChunkResult {
    for file in files { uploads[file] = nil }
    try removeRows(of: files)
    return .done
  }

  private func removeRows(of files: [ChunkFile]) throws(PostgresFault) {
    // In order, so that relays that remove the same do not lock one another out.
    let sorted = files.sorted()
    let named = PostgresParameters().bind(sorted.map(\.account.rawValue))
      .bind(sorted.map(\.place))
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    pipeline.add(FileStatements.remove, named)
    pipeline.add(FileStatements.removeParts, named)
    let commit = pipeline.add(.commit)
    _ = try connection.run(pipeline, commit: commit)
  }

  private func removeAll(of account: AccountID) throws(PostgresFault) -> ChunkResult {
    for file in uploads.keys.sorted() where file.account == account { uploads[file] = nil }
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    pipeline.add(PostgresSession.long)
    pipeline.add(FileStatements.removeAll, PostgresParameters().bind(account.rawValue))
    pipeline.add(FileStatements.removeAllParts, PostgresParameters().bind(account.rawValue))
    let commit = pipeline.add(.commit)
    _ = try connection.run(pipeline, within: Limits.removalMilliseconds, commit: commit)
    return .done
  }

  // MARK: Listing

  /// Accounts have no sign and the database's integers have one: its upper half comes first there,
  /// and is asked for behind the lower one.
  private func list(after file: ChunkFile?, limit: Int) throws(PostgresFault) -> ChunkResult {
    if let file { passed = max(passed ?? file, file) }
    let first = passed ?? ChunkFile(account: AccountID(rawValue: 0), number: 0)
    let halves: [(ChunkFile, UInt64)] =
      first.account.rawValue >> 63 == 0
      ? [(first, .max >> 1), (ChunkFile(account: AccountID(rawValue: 1 << 63), number: 0), .max)]
      : [(first, .max)]
    let rows = try connection.read { pipeline in
      for (start, end) in halves {
        pipeline.add(
          FileStatements.list,
          PostgresParameters().bind(start.account.rawValue).bind(start.place).bind(end)
            .bind(listedBefore).bind(Int64(max(0, limit)) + 1))
      }
    }
    let files = rows.flatMap { half in
      half.all { row in
        ChunkFile(account: AccountID(rawValue: row.bits(0)), place: row.integer(1))
      }
    }
    return .files(Array(files.filter { $0 != passed }.prefix(max(0, limit))))
  }

  private func of(_ file: ChunkFile) -> PostgresParameters {
    PostgresParameters().bind(file.account.rawValue).bind(file.place)
  }
}

extension ChunkRequest {
  /// As in "failed to …".
  fileprivate var operation: String {
    switch self {
    case .append, .finish: "write a file"
    case .read: "read a file"
    case .remove, .removeAll: "remove files"
    case .list: "list files"
    }
  }

  /// The unfinished file that it changes.
  fileprivate var written: ChunkFile? {
    switch self {
    case .append(let file, _), .finish(let file, _): file
    case .read, .remove, .removeAll, .list: nil
    }
  }
}
