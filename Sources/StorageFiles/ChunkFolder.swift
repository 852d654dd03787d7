import Glibc
import LockstepCrypto
import LockstepModel
import LockstepStorage

/// The chunks of files in a store or a backup, beside whoever has that open: read, and taken over
/// into another place. A chunk never changes once it has its name, so it may have two.
package final class ChunkFolder {
  package enum State: Hashable, Sendable {
    case whole, missing
    /// What is wrong with its bytes, as a sentence goes on behind "the piece".
    case damaged(String)
  }

  package enum Taken: Hashable, Sendable {
    /// It is the same file; a disk that fails takes both.
    case linked
    case copied
    /// It is here already.
    case standing
    case missing
  }

  private let root: Folder

  /// The folder of a store or a backup, made where it is missing.
  package init(directory: String) throws(StorageError) { root = try Folder(at: directory) }

  /// The same; nil where there is none.
  package static func standing(in directory: String) throws(StorageError) -> ChunkFolder? {
    access(directory, F_OK) == 0 ? try ChunkFolder(directory: directory) : nil
  }

  // MARK: looking

  /// Whether the file has as many bytes as it should, and, where `hash` is given, those.
  package func state(
    of file: ChunkFile, bytes: Int, hash: ChunkHash?
  ) throws(StorageError) -> State {
    guard let found = try root.folder(file.account.text)?.file(file.name) else { return .missing }
    return try ChunkFolder.state(of: found, bytes: bytes, hash: hash)
  }

  private static func state(
    of file: OpenFile, bytes: Int, hash: ChunkHash?
  ) throws(StorageError) -> State {
    // One byte more than there should be tells a file that is too long.
    let content: [UInt8]? = hash == nil ? nil : try file.read(at: 0, count: bytes + 1)
    let count = if let content { content.count } else { try file.count() }
    guard count == bytes else { return .damaged("has \(count) bytes and not \(bytes)") }
    if let content, let hash, SHA256.hash(content) != hash.bytes {
      return .damaged("has other bytes than its hash says")
    }
    return .whole
  }

  /// The files that stand in it, in order.
  package func files() throws(StorageError) -> [ChunkFile] { try root.chunks() }

  // MARK: taking

  /// Takes the file over from `source`: as a second name of it where that can be; otherwise of the
  /// same file in `earlier`, a backup from before; otherwise as a copy, which is not durable yet.
  package func take(
    _ file: ChunkFile, from source: ChunkFolder, earlier: ChunkFolder?
  ) throws(StorageError) -> Taken {
    let folder = try root.madeFolder(file.account.text)
    if folder.hasFile(file.name) { return .standing }
    guard let from = try source.root.folder(file.account.text),
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

  /// Returns when the names of all that was taken over would survive a power failure.
  package func sync() throws(StorageError) {
    for name in try root.names() { try root.folder(name)?.sync() }
    try root.sync()
  }
}
