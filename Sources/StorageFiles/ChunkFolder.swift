import Glibc
import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Chunks of files of a store or a backup, accessible while another process has it open: to be
/// read, and to be copied elsewhere. A chunk never changes once it has its final name, so hard
/// links are safe.
package final class ChunkFolder {
  package enum State: Hashable, Sendable {
    case whole, missing
    /// Defect of the bytes, as a text that continues "the piece".
    case damaged(String)
  }

  package enum Taken: Hashable, Sendable {
    /// A hard link to the same file: a failing disk damages both.
    case linked
    case copied
    /// It already exists here.
    case standing
    case missing
  }

  private let root: Folder

  /// Opens the folder of a store or a backup, and creates it if it is missing.
  package init(directory: String) throws(StorageError) { root = try Folder(at: directory) }

  /// Opens the folder, or returns nil if there is none.
  package static func standing(in directory: String) throws(StorageError) -> ChunkFolder? {
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

  /// Takes the file over from `source`: as a hard link if possible; otherwise as a hard link to the
  /// same file in `earlier`, a previous backup; otherwise as a copy, which is not durable yet.
  package func take(
    _ file: ChunkFile, from source: ChunkFolder, earlier: ChunkFolder?
  ) throws(StorageError) -> Taken {
    let folder = try root.madeFolder(file.account.text)
    if try folder.hasFile(file.name) { return .standing }
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

  /// Makes the names of all files taken over durable: they survive a power failure.
  package func sync() throws(StorageError) {
    for name in try root.names() { try root.folder(name)?.sync() }
    try root.sync()
  }
}
