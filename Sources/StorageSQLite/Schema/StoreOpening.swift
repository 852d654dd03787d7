import LockstepModel
import LockstepStorage
import LockstepStorageFiles

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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
  /// Number under which the store is open.
  private(set) var number: UInt64 = 0

  init(_ connection: SQLiteConnection, directory: String) throws(StorageError) {
    self.connection = connection
    self.directory = directory
    select = try connection.prepare("SELECT number FROM opening")
    put = try connection.prepare(
      """
      INSERT INTO opening (one, number) VALUES (1, ?)
      ON CONFLICT (one) DO UPDATE SET number = excluded.number
      """)
  }

  /// Opens the store with the number `next`. Returns true if an older copy was put back, or with
  /// `isDeclared`: the accounts are then in new generations, which `run` began.
  func begin(
    _ next: UInt64, isDeclared: Bool, run: UInt64
  ) throws(StorageError) -> Bool {
    let found = try select.first { $0.bits(0) } ?? 0
    let isRestored = try isOlderCopy() || isDeclared
    number = found
    let next = next == 0 || next == found ? nextNumber(after: next) : next
    if isRestored {
      // The file must not accept the number found: after a crash the mismatch must be detected
      // again.
      try replaceFile(newest: next, previous: next)
      try connection.write { () throws(StorageError) in
        try beginGenerations(next, run: run)
        try put.bind(next).run()
      }
      number = next
    } else {
      try advance(to: next)
    }
    return isRestored
  }

  /// True if the numbers of file and database disagree.
  func isOlderCopy() throws(StorageError) -> Bool {
    let found = try select.first { $0.bits(0) } ?? 0
    let file = try readFile()
    return found != file.newest && found != file.previous
  }

  /// Marks the database as an older copy: `number` is one that no database has.
  func markAsOlderCopy(_ number: UInt64) throws(StorageError) {
    try replaceFile(newest: number, previous: number)
  }

  /// Advances the number: every copy made before this is an older copy.
  func advanceNumber() throws(StorageError) { try advance(to: nextNumber(after: number)) }

  /// Rewrites the stored number in the caller's transaction.
  func rewrite() throws(StorageError) -> CommitResult {
    try put.bind(number).run()
    return .done
  }

  private func advance(to next: UInt64) throws(StorageError) {
    try replaceFile(newest: next, previous: number)
    try connection.write { () throws(StorageError) in try put.bind(next).run() }
    number = next
    try overwritePrevious(next)
  }

  private func nextNumber(after number: UInt64) -> UInt64 {
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
    // Those that were used since the copy was made would admit a device once more.
    try connection.execute("DELETE FROM pairings")
  }

  // MARK: The file

  private var path: String { directory + "/opening" }

  /// Reads two numbers of sixteen digits; returns 0 if the file is missing or not valid.
  private func readFile() throws(StorageError) -> (newest: UInt64, previous: UInt64) {
    let opened = try StoreFile.open(
      "opening", in: directory, O_RDONLY, "read its opening file")
    guard let descriptor = opened else { return (0, 0) }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 64) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, buffer.count, 0))
    }
    let parts = bytes.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
    guard let newest = parts.first.flatMap(HexText.parse) else { return (0, 0) }
    return (newest, parts.dropFirst().first.flatMap(HexText.parse) ?? newest)
  }

  /// Replaces the file atomically; it is durable when this returns.
  private func replaceFile(newest: UInt64, previous: UInt64) throws(StorageError) {
    let text = Array("\(HexText.text(newest)) \(HexText.text(previous))\n".utf8)
    let descriptor = try StoreFile.make("opening.new", in: directory, "write its opening file")
    let isWritten =
      text.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } == text.count
      && FileSync.flush(descriptor)
    let reason = errno
    close(descriptor)
    guard isWritten else { throw fileFault(reason) }
    guard rename(path + ".new", path) == 0 else { throw fileFault(errno) }
    try DirectoryLock.sync(directory)
  }

  /// Overwrites the previous number, after the database was updated. Written in place and not
  /// synced: whatever a crash leaves of it, the first number is the valid one.
  private func overwritePrevious(_ newest: UInt64) throws(StorageError) {
    let opened = try StoreFile.open("opening", in: directory, O_WRONLY, "write its opening file")
    guard let descriptor = opened else { throw fileFault(ENOENT) }
    defer { close(descriptor) }
    let text = Array(HexText.text(newest).utf8)
    let written = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 17) }
    guard written == text.count else { throw fileFault(errno) }
  }

  private func fileFault(_ reason: Int32) -> StorageError {
    StorageError(errno: reason, path: path, operation: "write its opening file")
  }
}

/// Checks that the files of an open store still have their names. If a file was removed, moved or
/// replaced, writes go into a file that cannot be opened by its name any more, and neither SQLite
/// nor the kernel reports that.
package struct StoreIdentity: Sendable {
  /// The file itself, independent of its name. It is open, so its inode number is not reused.
  private struct Identity: Hashable, Sendable {
    var device: UInt64
    var number: UInt64

    init?(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(status.st_dev)
      number = UInt64(status.st_ino)
    }
  }

  private let directory: String
  private var files: [(name: String, identity: Identity)] = []

  /// `names`: the open files of the store in this directory.
  init(directory: String, _ names: [String]) {
    self.directory = directory
    for name in names { watch(name) }
  }

  /// Adds an open file to the check; ignores a file that does not exist.
  mutating func watch(_ name: String) {
    guard let identity = Identity(directory + "/" + name) else { return }
    files.append((name, identity))
  }

  /// Returns an error if a file lost its name. Costs one system call per file.
  package func check() -> StorageError? {
    let lost = files.first { Identity(directory + "/" + $0.name) != $0.identity }
    return lost.map { .gone(path: directory, name: $0.name) }
  }
}

/// `open(2)`: the name is taken within `StoreFile`. A created file is accessible to its owner only.
private func openDescriptor(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o600) }

/// Opens the small files of a store. If another user may write to the store's folder, that user
/// could replace a file with a symbolic link, a hard link to a file that only that user may write,
/// or a pipe. So only regular files that belong to the store alone are accepted.
enum StoreFile {
  /// Flags: symbolic links are not followed, and opening a pipe does not block.
  private static let careful = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC

  /// Returns an open descriptor; nil if the file does not exist and `flags` does not create it. A
  /// created file belongs to the folder's owner, even if root creates it.
  static func open(
    _ name: String, in directory: String, _ flags: Int32, _ operation: String
  ) throws(StorageError) -> Int32? {
    let path = directory + "/" + name
    let descriptor = openDescriptor(path, flags | careful)
    guard descriptor >= 0 else {
      if errno == ENOENT, flags & O_CREAT == 0 { return nil }
      if errno == ELOOP { throw foreignFile(path, operation, "it is a symbolic link") }
      throw StorageError(errno: errno, path: path, operation: operation)
    }
    do throws(StorageError) {
      try check(descriptor, path, in: directory, operation)
      return descriptor
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// Creates a file with this name, after the removal of an existing one.
  static func make(
    _ name: String, in directory: String, _ operation: String
  ) throws(StorageError) -> Int32 {
    let path = directory + "/" + name
    guard unlink(path) == 0 || errno == ENOENT else {
      throw StorageError(errno: errno, path: path, operation: operation)
    }
    let made = try open(name, in: directory, O_WRONLY | O_CREAT | O_EXCL, operation)
    guard let made else { throw StorageError(errno: ENOENT, path: path, operation: operation) }
    return made
  }

  private static func check(
    _ descriptor: Int32, _ path: String, in directory: String, _ operation: String
  ) throws(StorageError) {
    var (file, folder) = (stat(), stat())
    guard fstat(descriptor, &file) == 0, stat(directory, &folder) == 0 else {
      throw StorageError(errno: errno, path: path, operation: operation)
    }
    guard file.st_mode & S_IFMT == S_IFREG else {
      throw foreignFile(path, operation, "it is not a regular file")
    }
    guard file.st_nlink == 1 else {
      throw foreignFile(path, operation, "the file has another hard link")
    }
    if geteuid() == 0, file.st_uid == 0, folder.st_uid != 0 {
      guard fchown(descriptor, folder.st_uid, folder.st_gid) == 0 else {
        throw StorageError(errno: errno, path: path, operation: operation)
      }
    } else if file.st_uid != folder.st_uid, file.st_uid != geteuid() {
      throw foreignFile(path, operation, "it belongs to another user than the store's folder")
    }
  }

  private static func foreignFile(
    _ path: String, _ operation: String, _ defect: String
  ) -> StorageError {
    .failed(
      path: path, operation: operation,
      detail: defect + ", which a store never creates; find out who created it, and remove it")
  }
}
