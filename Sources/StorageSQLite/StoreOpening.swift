import Glibc
import LockstepModel
import LockstepStorage

/// Detects that an older copy of the database was put back, and then gives every account a new
/// generation (docs/protocol.md, "Terms").
///
/// The database and a small file beside it hold the same number. It is drawn anew with each opening
/// (`OpeningNumber`). If the two disagree, an older copy was put back:
///
///     file        database
///     old old     old        at rest
///     new old     old        the file is written first; a crash here is no restore
///     new old     new        the database was written next; a crash here is no restore
///     new new     new        at rest again
///
/// A store may also be copied while it is open. So the number advances again when the store is
/// closed, and in idle periods after many writes: a copy made before that counts as older too.
///
/// Limit: a restore of the whole directory, including the file, is not detected here. It is
/// detected by the tokens of devices (`TagGap`).
final class StoreOpening {
  private let connection: SQLiteConnection
  private let directory: String
  private let select: SQLiteStatement
  private let put: SQLiteStatement
  private var number: UInt64 = 0

  init(_ connection: SQLiteConnection, directory: String) throws(StorageError) {
    self.connection = connection
    self.directory = directory
    select = try connection.prepare("SELECT number FROM opening")
    put = try connection.prepare("INSERT OR REPLACE INTO opening VALUES (1, ?)")
  }

  /// Opens the store with the number `drawn`. Returns true if an older copy was put back, or with
  /// `isDeclared`: the accounts are then in new generations, which `run` began.
  func begin(
    _ drawn: UInt64, isDeclared: Bool, run: UInt64
  ) throws(StorageError) -> Bool {
    let found = try select.first { $0.bits(0) } ?? 0
    let isRestored = try isOlderCopy() || isDeclared
    number = found
    let next = drawn == 0 || drawn == found ? following(drawn) : drawn
    if isRestored {
      // The file must not accept the number found: after a crash the mismatch must be detected
      // again.
      try replaceFile(newest: next, former: next)
      try connection.write { () throws(StorageError) in
        try beginGenerations(next, run: run)
        try put.bind(next).run()
      }
      number = next
    } else {
      try move(to: next)
    }
    return isRestored
  }

  /// True if the numbers of file and database disagree.
  func isOlderCopy() throws(StorageError) -> Bool {
    let found = try select.first { $0.bits(0) } ?? 0
    let file = try readFile()
    return found != file.newest && found != file.former
  }

  /// Marks the database as an older copy: `stranger` is a number that no database has.
  func disown(_ stranger: UInt64) throws(StorageError) {
    try replaceFile(newest: stranger, former: stranger)
  }

  /// Advances the number: every copy made before this is an older copy.
  func moveOn() throws(StorageError) { try move(to: following(number)) }

  /// Rewrites the stored number in the caller's transaction.
  func rewrite() throws(StorageError) -> CommitResult {
    try put.bind(number).run()
    return .done
  }

  private func move(to next: UInt64) throws(StorageError) {
    try replaceFile(newest: next, former: number)
    try connection.write { () throws(StorageError) in try put.bind(next).run() }
    number = next
    try settleFile(next)
  }

  private func following(_ number: UInt64) -> UInt64 {
    var random = SeededRandom(seed: number)
    return max(1, random.next())
  }

  // MARK: Generations

  private func beginGenerations(_ opening: UInt64, run: UInt64) throws(StorageError) {
    let all = try connection.prepare("SELECT account, generation, newest, forgotten FROM accounts")
    let earlier = try connection.prepare("SELECT generation FROM lineage WHERE account = ?")
    let end = try connection.prepare("INSERT INTO lineage VALUES (?, ?, ?)")
    let begin = try connection.prepare(
      "UPDATE accounts SET generation = ?2, newest = ?3, run = ?4 WHERE account = ?1")
    let accounts = try all.all { row in
      (
        AccountID(rawValue: row.bits(0)),
        AccountHead(
          generation: UInt32(truncatingIfNeeded: row.integer(1)), newest: row.integer(2),
          forgotten: row.integer(3))
      )
    }
    for (account, head) in accounts {
      let generations = try earlier.bind(account.rawValue).all {
        UInt32(truncatingIfNeeded: $0.integer(0))
      }
      var next = head.restored(account, opening: opening, earlier: generations)
      next.run = run
      try end.bind(account.rawValue).bind(Int64(head.generation)).bind(head.newest).run()
      try begin.bind(account.rawValue).bind(Int64(next.generation)).bind(next.newest)
        .bind(next.run).run()
    }
    try connection.execute("UPDATE chunks SET doubtful = 1")
  }

  // MARK: The file

  private var path: String { directory + "/opening" }

  /// Reads two numbers of sixteen digits; returns 0 if the file is missing or not valid.
  private func readFile() throws(StorageError) -> (newest: UInt64, former: UInt64) {
    let opened = try StoreFile.open(
      "opening", in: directory, O_RDONLY, "read how it was opened last")
    guard let descriptor = opened else { return (0, 0) }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
    let words = bytes.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    guard let newest = words.first.flatMap(HexText.parse) else { return (0, 0) }
    return (newest, words.dropFirst().first.flatMap(HexText.parse) ?? newest)
  }

  /// Replaces the file atomically; it is durable when this returns.
  private func replaceFile(newest: UInt64, former: UInt64) throws(StorageError) {
    let text = Array("\(HexText.text(newest)) \(HexText.text(former))\n".utf8)
    let descriptor = try StoreFile.make("opening.new", in: directory, "write down its opening")
    let isWritten =
      text.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == text.count
      && fsync(descriptor) == 0
    let reason = errno
    close(descriptor)
    guard isWritten else { throw fileFault(reason) }
    guard rename(path + ".new", path) == 0 else { throw fileFault(errno) }
    try DirectoryLock.sync(directory)
  }

  /// Overwrites the former number, after the database was updated. Written in place and not synced:
  /// whatever a crash leaves of it, the first number is the valid one.
  private func settleFile(_ newest: UInt64) throws(StorageError) {
    let opened = try StoreFile.open("opening", in: directory, O_WRONLY, "write down its opening")
    guard let descriptor = opened else { throw fileFault(ENOENT) }
    defer { close(descriptor) }
    let text = Array(HexText.text(newest).utf8)
    let written = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 17) }
    guard written == text.count else { throw fileFault(errno) }
  }

  private func fileFault(_ reason: Int32) -> StorageError {
    StorageError(errno: reason, path: path, operation: "write down its opening")
  }
}
