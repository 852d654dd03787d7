import LockstepCrypto
import LockstepModel
import LockstepStorage

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Chunks of files in a folder, for one thread of one process: the process that has the store of
/// this folder open.
///
///     chunks/incoming/<account>-<number>    being written; emptied at opening
///     chunks/<account>/<number>             whole, under the account's and the file's number in
///                                           sixteen hexadecimal digits each
///
/// A file is moved to its account's folder by a rename, once its hash is verified and its bytes are
/// on the disk. So every file there is complete, even after a power failure.
package final class FileChunkStore: ChunkStore {
  /// File that is being written.
  private struct Upload {
    var file: OpenFile
    var hash = SHA256()
    var count = 0
  }

  private let root: Folder
  private let incoming: Folder
  private let uploadLimit: Int
  private var uploads: [ChunkFile: Upload] = [:]
  /// Files that were complete when the store was opened and that `list` has not passed yet, in
  /// order; nil until needed: read before the first file is moved to an account.
  private var unlistedFiles: [ChunkFile]?

  /// Opens the store in `directory`, or creates it, accessible to its owner only. The parent folder
  /// must exist. `uploads`: maximum number of files open for writing.
  package init(directory: String, uploads: Int = Limits.uploads) throws(StorageError) {
    root = try Folder(at: directory)
    incoming = try root.makeFolder("incoming")
    uploadLimit = uploads
    for name in try incoming.names() { try incoming.removeFile(name) }
  }

  package func perform(_ request: ChunkRequest) throws(StorageError) -> ChunkResult {
    switch request {
    case .append(let file, let bytes): try append(bytes, to: file)
    case .finish(let file, let hash): try finish(file, expecting: hash)
    case .read(let file, let offset, let count): try read(file, offset: offset, count: count)
    case .remove(let files): try remove(files)
    case .removeAll(let account): try removeAll(of: account)
    case .list(let file, let limit): try list(after: file, limit: limit)
    }
  }

  // MARK: Writing

  private func append(_ bytes: [UInt8], to file: ChunkFile) throws(StorageError) -> ChunkResult {
    if uploads[file] == nil {
      guard uploads.count < uploadLimit else { return .refused(StoreRefusals.tooManyUploads) }
      if let folder = try root.folder(file.account.text), try folder.hasFile(file.name) {
        return .refused(StoreRefusals.taken)
      }
      uploads[file] = Upload(file: try incoming.makeFile(file.incomingName))
    }
    guard bytes.count <= Limits.chunkBytes - (uploads[file]?.count ?? 0) else {
      try removeUpload(file)
      return .refused(StoreRefusals.chunkTooLarge)
    }
    do throws(StorageError) {
      try uploads[file]?.file.append(bytes)
    } catch {
      try removeUpload(file)
      throw error
    }
    uploads[file]?.hash.update(bytes)
    uploads[file]?.count += bytes.count
    return .done
  }

  private func finish(
    _ file: ChunkFile, expecting hash: ChunkHash
  ) throws(StorageError) -> ChunkResult {
    guard let upload = uploads[file] else { return .refused(StoreRefusals.unknownChunk) }
    guard upload.hash.finish() == hash.bytes else {
      try removeUpload(file)
      return .refused(StoreRefusals.hashMismatch)
    }
    do throws(StorageError) {
      _ = try loadUnlistedFiles()
      try upload.file.sync()
      let folder = try root.makeFolder(file.account.text)
      try incoming.move(file.incomingName, to: folder, as: file.name)
      try folder.sync()
    } catch {
      try remove([file])
      throw error
    }
    uploads[file] = nil
    return .done
  }

  /// Removes the unfinished file.
  private func removeUpload(_ file: ChunkFile) throws(StorageError) {
    guard uploads.removeValue(forKey: file) != nil else { return }
    try incoming.removeFile(file.incomingName)
  }

  // MARK: Reading

  private func read(
    _ file: ChunkFile, offset: Int, count: Int
  ) throws(StorageError) -> ChunkResult {
    guard let found = try root.folder(file.account.text)?.file(file.name) else {
      return .refused(StoreRefusals.unknownChunk)
    }
    return .bytes(try found.read(at: offset, count: count))
  }

  // MARK: Removing

  @discardableResult
  private func remove(_ files: [ChunkFile]) throws(StorageError) -> ChunkResult {
    for file in files {
      try removeUpload(file)
      try root.folder(file.account.text)?.removeFile(file.name)
    }
    return .done
  }

  private func removeAll(of account: AccountID) throws(StorageError) -> ChunkResult {
    for file in uploads.keys.sorted() where file.account == account { try removeUpload(file) }
    guard let folder = try root.folder(account.text) else { return .done }
    for name in try folder.names() { try folder.removeFile(name) }
    try root.removeFolder(account.text)
    try root.sync()
    return .done
  }

  // MARK: Listing

  private func list(after file: ChunkFile?, limit: Int) throws(StorageError) -> ChunkResult {
    var rest = try loadUnlistedFiles()
    if let file { rest.removeFirst(rest.prefix { $0 <= file }.count) }
    unlistedFiles = rest
    return .files(Array(rest.prefix(limit)))
  }

  private func loadUnlistedFiles() throws(StorageError) -> [ChunkFile] {
    if let unlistedFiles { return unlistedFiles }
    let files = try root.chunks()
    unlistedFiles = files
    return files
  }
}

extension Folder {
  /// Returns the chunks of all accounts in this folder, in order. Ignores files outside an
  /// account's folder or without a chunk's name: they do not belong to the store, and it must not
  /// remove them.
  func chunks() throws(StorageError) -> [ChunkFile] {
    var files: [ChunkFile] = []
    for name in try names() {
      guard let account = AccountID(text: name), account.text == name,
        let folder = try folder(name)
      else { continue }
      for name in try folder.names() {
        guard let number = HexText.parse(name) else { continue }
        files.append(ChunkFile(account: account, number: number))
      }
    }
    return files.sorted()
  }
}

extension ChunkFile {
  /// Name in its account's folder.
  var name: String { HexText.text(number) }
  fileprivate var incomingName: String { account.text + "-" + name }
}

extension FileChunkStore {
  /// Removes the store in `directory` with all its chunks; does nothing if there is none. No
  /// process may have it open. Files that do not belong to the store stay, and so does the folder.
  package static func remove(directory: String) throws(StorageError) {
    guard access(directory, F_OK) == 0 else { return }
    let root = try Folder(at: directory)
    for name in try root.names() {
      guard name == "incoming" || AccountID(text: name)?.text == name,
        let folder = try root.folder(name)
      else { continue }
      for file in try folder.names() { try folder.removeFile(file) }
      try root.removeFolder(name)
    }
    guard rmdir(directory) == 0 || errno == ENOTEMPTY || errno == EEXIST else {
      throw StorageError(errno: errno, path: directory, operation: "remove the folder")
    }
  }
}

/// Chunks of files of a store or a backup, accessible while another process has it open: to be
/// read, and to be copied elsewhere. A chunk never changes once it has its final name, so hard
/// links are safe.
package final class ChunkFolder {
  package enum State: Hashable, Sendable {
    case whole, missing
    /// Defect of the bytes, as a text that continues "the chunk".
    case damaged(String)
  }

  package enum CopyResult: Hashable, Sendable {
    /// A hard link to the same file: a failing disk damages both.
    case linked
    case copied
    /// It already exists here.
    case exists
    case missing
  }

  private let root: Folder

  /// Opens the folder of a store or a backup, and creates it if it is missing.
  package init(directory: String) throws(StorageError) { root = try Folder(at: directory) }

  /// Opens the folder, or returns nil if there is none.
  package static func existing(in directory: String) throws(StorageError) -> ChunkFolder? {
    access(directory, F_OK) == 0 ? try ChunkFolder(directory: directory) : nil
  }

  // MARK: Reading

  /// Checks that the file has the right length and, if `hash` is given, the right bytes.
  package func state(
    of file: ChunkFile, bytes: Int, hash: ChunkHash?
  ) throws(StorageError) -> State {
    guard let found = try root.folder(file.account.text)?.file(file.name) else { return .missing }
    return try ChunkFolder.state(of: found, bytes: bytes, hash: hash)
  }

  private static func state(
    of file: OpenFile, bytes: Int, hash: ChunkHash?
  ) throws(StorageError) -> State {
    // One byte more than expected reveals a file that is too long.
    let content: [UInt8]? = hash == nil ? nil : try file.read(at: 0, count: bytes + 1)
    let count = if let content { content.count } else { try file.count() }
    guard count == bytes else { return .damaged("has \(count) bytes and not \(bytes)") }
    if let content, let hash, SHA256.hash(content) != hash.bytes {
      return .damaged("has other bytes than its hash says")
    }
    return .whole
  }

  /// Returns the files in the folder, in order.
  package func files() throws(StorageError) -> [ChunkFile] { try root.chunks() }

  // MARK: Copying

  /// Copies the file from `source`: as a hard link if possible; otherwise as a hard link to the
  /// same file in `earlier`, a previous backup; otherwise as a copy, which is not durable yet.
  package func copyFile(
    _ file: ChunkFile, from source: ChunkFolder, earlier: ChunkFolder?
  ) throws(StorageError) -> CopyResult {
    let folder = try root.makeFolder(file.account.text)
    if try folder.hasFile(file.name) { return .exists }
    guard let from = try source.root.folder(file.account.text), try from.hasFile(file.name),
      let isLinked = try from.link(file.name, in: folder)
    else { return .missing }
    if isLinked { return .linked }
    guard let reading = try from.file(file.name) else { return .missing }
    if let old = try earlier?.root.folder(file.account.text),
      let same = try old.file(file.name), try same.count() == reading.count(),
      try old.link(file.name, in: folder) == true
    {
      return .linked
    }
    let copy = try folder.makeFile(file.name)
    var offset = 0
    while true {
      let bytes = try reading.read(at: offset, count: Limits.chunkPortionBytes)
      if bytes.isEmpty { return .copied }
      try copy.append(bytes)
      offset += bytes.count
    }
  }

  package func remove(_ file: ChunkFile) throws(StorageError) {
    try root.folder(file.account.text)?.removeFile(file.name)
  }

  /// Makes the names of all copied files durable: they survive a power failure.
  package func sync() throws(StorageError) {
    for name in try root.names() { try root.folder(name)?.sync() }
    try root.sync()
  }
}
