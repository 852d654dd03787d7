import Glibc
import LockstepCrypto
import LockstepModel
import LockstepStorage

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
  private var standing: [ChunkFile]?

  /// Opens the store in `directory`, or creates it, accessible to its owner only. The parent folder
  /// must exist. `uploads`: maximum number of files open for writing.
  package init(directory: String, uploads: Int = Limits.uploads) throws(StorageError) {
    root = try Folder(at: directory)
    incoming = try root.madeFolder("incoming")
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
      try drop(file)
      return .refused(StoreRefusals.chunkTooLarge)
    }
    do throws(StorageError) {
      try uploads[file]?.file.append(bytes)
    } catch {
      try drop(file)
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
      try drop(file)
      return .refused(StoreRefusals.hashMismatch)
    }
    do throws(StorageError) {
      _ = try standingFiles()
      try upload.file.sync()
      let folder = try root.madeFolder(file.account.text)
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
  private func drop(_ file: ChunkFile) throws(StorageError) {
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
      try drop(file)
      try root.folder(file.account.text)?.removeFile(file.name)
    }
    return .done
  }

  private func removeAll(of account: AccountID) throws(StorageError) -> ChunkResult {
    for file in uploads.keys.sorted() where file.account == account { try drop(file) }
    guard let folder = try root.folder(account.text) else { return .done }
    for name in try folder.names() { try folder.removeFile(name) }
    try root.removeFolder(account.text)
    try root.sync()
    return .done
  }

  // MARK: Listing

  private func list(after file: ChunkFile?, limit: Int) throws(StorageError) -> ChunkResult {
    var rest = try standingFiles()
    if let file { rest.removeFirst(rest.prefix { $0 <= file }.count) }
    standing = rest
    return .files(Array(rest.prefix(limit)))
  }

  private func standingFiles() throws(StorageError) -> [ChunkFile] {
    if let standing { return standing }
    let files = try root.chunks()
    standing = files
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
