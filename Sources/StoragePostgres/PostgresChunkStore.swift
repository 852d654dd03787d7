import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Chunks of files in the database of the zones, for one thread of one relay. Several relays share
/// the chunks.
///
///     files        account · number · owner · bytes · finished_at     a row a file
///     file_parts   account · number · part · bytes                    128 KiB each, but the last
///
/// A part is written as soon as its bytes have arrived, so that memory holds at most one part of
/// each upload. A read by offset reads only the parts that it needs. Parts of an unfinished file
/// need not survive a crash, so their commits do not wait for the disk (`synchronous_commit` off).
/// The commit that finishes the file also makes the whole log before it durable.
///
/// An unfinished file has an owner: a random number whose advisory lock the session holds for its
/// lifetime. When a relay's session ends for any reason, the lock is released, without clocks or
/// leases to renew, and other relays may remove its unfinished files. A relay that loses its
/// connection loses its uploads too, and continues with another number. Behind a pooler in
/// transaction mode no session can hold a lock: nothing is removed there, and relays with a direct
/// address may remove what is unfinished.
package final class PostgresChunkStore: ChunkStore {
  /// A file that is being written.
  private struct Upload {
    var hash = SHA256()
    var count = 0
    var parts: Int64 = 0
    /// Bytes that do not fill a part yet.
    var tail: [UInt8] = []
  }

  private let connection: PostgresConnection
  private let uploadLimit: Int
  private let keepsSessions: Bool?
  private var uploads: [ChunkFile: Upload] = [:]
  /// Number that owns this session's unfinished files.
  private var owner: UInt64 = 0
  private var ownedSession = 0
  /// Number of uploads begun since the last sweep for files without an owner.
  private var uploadsSinceSweep = 0
  /// `list` returns files that were finished before this time of the server's clock, in
  /// microseconds.
  private var listedBefore: Int64 = 0
  /// Last file that was listed; it and those before it are not listed again.
  private var lastListed: ChunkFile?

  /// Opens the store, and creates or upgrades the tables if needed.
  ///
  /// `uploads`: maximum number of files written at a time. `strayMilliseconds`: minimum age of a
  /// finished file in `list`; another relay may have just received a younger one, and not yet
  /// recorded its account. `keepsSessions`: true if a session of the server lasts as long as the
  /// connection; nil: if there is no pooler. `restored`: as in `PostgresZoneStore`.
  package convenience init(
    _ address: PostgresAddress, uploads: Int = Limits.uploads,
    strayMilliseconds: Int64 = Limits.strayFileMilliseconds, keepsSessions: Bool? = nil,
    restored: (@Sendable () -> Void)? = nil
  ) throws(StorageError) {
    try self.init(
      address, uploads: uploads, strayMilliseconds: strayMilliseconds,
      keepsSessions: keepsSessions, sessionSetup: StoreOpening.sessionSetup(restored))
  }

  /// `sessionSetup`: runs when a session is begun; nil if the store is being moved, because the
  /// move manages its tables.
  init(
    _ address: PostgresAddress, uploads: Int = Limits.uploads,
    strayMilliseconds: Int64 = Limits.strayFileMilliseconds, keepsSessions: Bool? = nil,
    sessionSetup: PostgresConnection.SessionSetup?
  ) throws(StorageError) {
    uploadLimit = uploads
    self.keepsSessions = keepsSessions
    let connection = PostgresConnection(address)
    self.connection = connection
    connection.sessionSetup = sessionSetup
    listedBefore = try connection.perform("open") { () throws(PostgresFault) in
      let now = try connection.run(FileStatements.now).first { $0.integer(0) } ?? 0
      return now - strayMilliseconds * 1_000
    }
    try connection.perform("open") { () throws(PostgresFault) in try acquireOwnership() }
  }

  /// Closes the connection. Later requests fail; any relay may remove the unfinished files.
  package func close() { connection.close() }

  package func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult {
    let isContinuation = request.written.map { uploads[$0] != nil } ?? false
    do throws(StorageError) {
      return try connection.perform(request.operation) { () throws(PostgresFault) in
        try acquireOwnership()
        if isContinuation, let file = request.written, uploads[file] == nil {
          throw PostgresFault(
            cause: .late, message: "the connection was lost, and so was the upload")
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
      // An upload ends if a write of its file fails.
      if let file = request.written { uploads[file] = nil }
      throw error
    }
  }

  // MARK: Ownership

  /// Draws an owner number for a new session, and removes files whose owner is gone.
  private func acquireOwnership() throws(PostgresFault) {
    guard ownedSession != connection.openings else { return }
    uploads = [:]
    owner = try StoreOpening.drawNumber(connection).random
    if canHoldLocks {
      _ = try connection.run(FileStatements.own, PostgresParameters().bind(owner))
    }
    ownedSession = connection.openings
    try removeOrphans()
  }

  private var canHoldLocks: Bool { keepsSessions ?? !connection.isPooled }

  private func removeOrphans() throws(PostgresFault) {
    uploadsSinceSweep = 0
    guard canHoldLocks else { return }
    let owners = try connection.run(FileStatements.owners, PostgresParameters().bind(owner)).all {
      $0.bits(0)
    }
    for orphan in owners {
      var pipeline = PostgresPipeline()
      pipeline.add(.begin)
      // The lock lasts until the end of the transaction; a living owner holds it until the end of
      // its session.
      let lock = pipeline.add(FileStatements.lockOwner, PostgresParameters().bind(orphan))
      let rows = try connection.run(pipeline)
      var last = PostgresPipeline()
      if rows[lock].first({ $0.bool(0) }) ?? false {
        last.add(FileStatements.removeOwned, PostgresParameters().bind(orphan))
      }
      let commit = last.add(.commit)
      _ = try connection.run(last, commit: commit)
    }
  }

  // MARK: Writing

  private func append(_ bytes: [UInt8], to file: ChunkFile) throws(PostgresFault) -> ChunkResult {
    if uploads[file] == nil {
      guard uploads.count < uploadLimit else { return .refused(StoreRefusals.tooManyUploads) }
      uploadsSinceSweep += 1
      if uploadsSinceSweep >= uploadLimit { try removeOrphans() }
      let begun = try runUnsynced(FileStatements.begin, parameters(of: file).bind(owner))
      guard begun.written == 1 else { return .refused(StoreRefusals.taken) }
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
      let part = parameters(of: file).bind(upload.parts).bind(
        Array(upload.tail.prefix(Limits.chunkPortionBytes)))
      guard try runUnsynced(FileStatements.addPart, part.bind(owner)).written == 1 else {
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
      // A hash object can be finished only once: forget the upload first, even if the removal
      // fails.
      uploads[file] = nil
      try removeRows(of: [file])
      return .refused(StoreRefusals.hashMismatch)
    }
    uploads[file] = nil
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    let finished = pipeline.add(
      FileStatements.finish,
      parameters(of: file).bind(upload.parts).bind(upload.tail).bind(owner)
        .bind(Int64(upload.count)))
    let commit = pipeline.add(.commit)
    let rows: [PostgresRows]
    do throws(PostgresFault) {
      rows = try connection.run(pipeline, commit: commit)
    } catch {
      // A repetition would not find the upload.
      var fault = error
      fault.isUnknown = fault.isUnknown || fault.mayRepeat
      throw fault
    }
    return rows[finished].count == 1 ? .done : .refused(StoreRefusals.unknownChunk)
  }

  /// Runs a statement in a transaction that need not be durable if the end of the session shows
  /// that the server crashed.
  private func runUnsynced(
    _ statement: PostgresStatement, _ parameters: PostgresParameters
  ) throws(PostgresFault) -> PostgresRows {
    var pipeline = PostgresPipeline()
    pipeline.add(.begin)
    // A pooler hides a crash of the server, in which parts would be lost.
    if canHoldLocks { pipeline.add(FileStatements.unsynced) }
    let step = pipeline.add(statement, parameters)
    let commit = pipeline.add(.commit)
    return try connection.run(pipeline, commit: commit)[step]
  }

  /// Removes the unfinished file.
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
      pipeline.add(FileStatements.isWhole, parameters(of: file))
      pipeline.add(
        FileStatements.parts,
        parameters(of: file).bind(start / size).bind((end - 1) / size).bind(start)
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
    // Sorted, so that relays that remove the same files do not deadlock.
    let sorted = files.sorted()
    let named = PostgresParameters().bind(sorted.map(\.account.rawValue))
      .bind(sorted.map(\.columnValue))
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

  /// Lists files by account. Accounts are unsigned and the database's integers are signed: the
  /// upper half sorts first there, and is queried after the lower half.
  private func list(after file: ChunkFile?, limit: Int) throws(PostgresFault) -> ChunkResult {
    if let file { lastListed = max(lastListed ?? file, file) }
    let first = lastListed ?? ChunkFile(account: AccountID(rawValue: 0), number: 0)
    let halves: [(ChunkFile, UInt64)] =
      first.account.rawValue >> 63 == 0
      ? [(first, .max >> 1), (ChunkFile(account: AccountID(rawValue: 1 << 63), number: 0), .max)]
      : [(first, .max)]
    let rows = try connection.read { pipeline in
      for (start, end) in halves {
        pipeline.add(
          FileStatements.list,
          PostgresParameters().bind(start.account.rawValue).bind(start.columnValue).bind(end)
            .bind(listedBefore).bind(Int64(max(0, limit)) + 1))
      }
    }
    let files = rows.flatMap { half in
      half.all { row in
        ChunkFile(account: AccountID(rawValue: row.bits(0)), columnValue: row.integer(1))
      }
    }
    return .files(Array(files.filter { $0 != lastListed }.prefix(max(0, limit))))
  }

  private func parameters(of file: ChunkFile) -> PostgresParameters {
    PostgresParameters().bind(file.account.rawValue).bind(file.columnValue)
  }
}

extension ChunkRequest {
  /// Text for the error, as in "failed to …".
  fileprivate var operation: String {
    switch self {
    case .append, .finish: "write a file"
    case .read: "read a file"
    case .remove, .removeAll: "remove files"
    case .list: "list files"
    }
  }

  /// The unfinished file that the request changes.
  fileprivate var written: ChunkFile? {
    switch self {
    case .append(let file, _), .finish(let file, _): file
    case .read, .remove, .removeAll, .list: nil
    }
  }
}
