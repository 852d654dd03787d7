import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageFiles
import Synchronization

@_exported import struct LockstepModel.FileReference

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Progress of a file on its way to this device.
public struct FileProgress: Hashable, Sendable {
  /// Bytes that are on this device.
  public let bytesDone: Int
  public let bytesInAll: Int
}

/// Content of files that fields of records name.
extension Lockstep {
  /// Stores the content of a file on this device. It is sent to the account's other devices with
  /// the record that holds the reference; save that within a day, or the content is removed.
  ///
  /// ```swift
  /// let image = try await lockstep.attach(contentsOf: url, for: Photo.self)
  /// try await lockstep.save(Photo(title: "lake", image: image))
  /// ```
  ///
  /// - Parameters:
  ///   - url: A file of at most 16 GiB, or 15.7 GiB if the zone is sealed. It is copied, and may
  ///     change or go afterwards.
  ///   - type: Type of the record. In an account whose records are sealed, the content is sealed
  ///     with the keys of its zone, and no other zone's record can have the reference.
  /// - Returns: A reference for a field of a record.
  public func attach<Record: SyncedRecord>(
    contentsOf url: URL, for type: Record.Type
  ) async throws -> FileReference {
    let keys = try await keysForAttaching(in: [try names(type).zone])
    return try await attach(url, sealedBy: keys.first)
  }

  /// Stores the content of a file on this device, for a record of any type. In an account whose
  /// records are sealed, the type must be known: this call then needs types that are all of one
  /// zone, and throws `file` else.
  public func attach(contentsOf url: URL) async throws -> FileReference {
    let zones = Set(models.compactMap { Name($0.zone) }).sorted()
    let keys = try await keysForAttaching(in: zones)
    guard keys.isEmpty || zones.count == 1 else {
      throw LockstepError.file(
        path: url.path,
        reason: "this account seals files with keys of zones; call attach(contentsOf:for:)")
    }
    return try await attach(url, sealedBy: keys.first)
  }

  private func attach(_ url: URL, sealedBy keys: ZoneKeys?) async throws -> FileReference {
    guard url.isFileURL else {
      throw LockstepError.file(
        path: url.absoluteString, reason: "it is no file URL; download it, then attach the file")
    }
    let seal = keys.map { ZoneSeal($0) }
    let blockBytes = seal == nil ? Limits.chunkBytes : ZoneSeal.fileBlockBytes
    let limit = Limits.chunksPerRecord * blockBytes
    let source = try await Self.onThread { try FileSource(url.path, limit: limit) }
    var chunks: [ChunkHash] = []
    var bytes = 0
    while true {
      try Task.checkCancellation()
      let (count, chunk) = try await Self.onThread {
        let block = try source.read(blockBytes)
        return (block.count, block.isEmpty ? [] : seal?.sealed(fileBlock: block) ?? block)
      }
      if count == 0 { break }
      guard chunks.count < Limits.chunksPerRecord else {
        throw LockstepError.fileTooLarge(path: url.path, limit: limit)
      }
      chunks.append(try await add(chunk))
      bytes += count
    }
    return FileReference(
      name: url.lastPathComponent, bytes: bytes, chunks: chunks,
      seal: seal.map { FileReference.Seal(zone: $0.zone, key: $0.keyID) })
  }

  /// Returns the keys of those of the zones that are sealed.
  private func keysForAttaching(in zones: [Name]) async throws -> [ZoneKeys] {
    let (keys, locked) = try await sealing(of: zones)
    if let zone = locked.first {
      throw LockstepError.refused(
        reason: "the records of zone \(zone.text) are sealed, and this device does not have the "
          + "account's keys: pair it again with a code of a device that has them")
    }
    return zones.compactMap { keys?.keys(of: $0) }
  }

  /// Returns the home's keys, and those of the zones that are sealed with keys that it does not
  /// have.
  private func sealing(of zones: [Name]) async throws -> (keys: SealingKeys?, locked: [Name]) {
    let home = engine.folder
    return try await Self.onThread {
      try HomeReading.perform(home) { store throws(StorageError) in
        var locked: [Name] = []
        for zone in zones where try Replica.isLocked(zone, in: store) { locked.append(zone) }
        return (keys: try Replica.keys(in: store), locked: locked)
      }
    }
  }

  private func add(_ chunk: [UInt8]) async throws -> ChunkHash {
    let report = try await engine.perform({ .addChunk($0, chunk) })
    guard case .chunkAdded(_, let result) = report else { throw LockstepError.closed }
    switch result {
    case .success(let hash): return hash
    case .failure(let failure): throw LockstepError(failure)
    }
  }

  /// Returns a file with the content, once all of it is on this device. Content that is not here
  /// yet comes from the relay.
  ///
  /// The file is a copy in the home, for reading only. It stays for at least 7 days after the last
  /// call for it; keep the reference, not the URL.
  ///
  /// - Parameters:
  ///   - reference: A reference from a field of a record.
  ///   - progress: Called as the content arrives.
  /// - Throws: `fileUnavailable` if neither this device nor the relay has the content, `offline`
  ///   without a network, `fileKeyMissing` and `fileUnreadable` if the content is sealed and does
  ///   not open.
  public func file(
    _ reference: FileReference, progress: (@Sendable (FileProgress) -> Void)? = nil
  ) async throws -> URL {
    let copies = FileCopies(engine.folder)
    if let path = try copies.find(reference) { return URL(fileURLWithPath: path) }
    let opener = try await opener(of: reference)
    let draft = try await Self.onThread { try copies.begin(reference) }
    var done = 0
    for hash in reference.chunks {
      let before = done
      let chunk = try await read(hash, of: reference) { bytes in
        // A sealed chunk is longer than what is in it.
        let reached = min(before + bytes, reference.bytes)
        progress?(FileProgress(bytesDone: reached, bytesInAll: reference.bytes))
      }
      done += try await Self.onThread {
        let block = try opener(chunk)
        try draft.write(block)
        return block.count
      }
    }
    guard done == reference.bytes else {
      throw LockstepError.fileUnavailable(
        name: reference.name, reason: "its chunks have \(done) bytes, not \(reference.bytes)")
    }
    return URL(fileURLWithPath: try await Self.onThread { try draft.finish() })
  }

  /// Returns a function that gives a chunk's part of the content.
  private func opener(
    of reference: FileReference
  ) async throws -> @Sendable ([UInt8]) throws(LockstepError) -> [UInt8] {
    guard let named = reference.seal else { return { chunk throws(LockstepError) in chunk } }
    let keys = try await sealing(of: []).keys?.keys(of: named.zone)
    guard let seal = keys.map({ ZoneSeal($0) }) else {
      throw LockstepError(.unknownKey(named.key), file: reference.name)
    }
    return { chunk throws(LockstepError) in
      do throws(SealFault) {
        return try seal.opened(fileBlock: chunk, sealedWith: named.key)
      } catch {
        throw LockstepError(error, file: reference.name)
      }
    }
  }

  /// Returns the bytes of a chunk.
  private func read(
    _ hash: ChunkHash, of reference: FileReference, progress: @escaping @Sendable (Int) -> Void
  ) async throws -> [UInt8] {
    // The bytes of the download come first, and then those that are read here.
    let reported = Mutex(0)
    let progress = { @Sendable (bytes: Int) in
      let isNew = reported.withLock { reported in
        defer { reported = max(reported, bytes) }
        return bytes > reported
      }
      if isNew { progress(bytes) }
    }
    let listener = engine.listen { report in
      guard case .chunkProgress(let progressed) = report, progressed.hash == hash,
        progressed.direction == .down
      else { return }
      progress(progressed.bytesDone)
    }
    defer { engine.stopListening(listener) }
    var chunk: [UInt8] = []
    for await report in engine.reports(of: { .readChunk($0, hash, offset: 0, count: .max) }) {
      try Task.checkCancellation()
      guard case .chunkRead(_, let result) = report else { throw LockstepError.closed }
      switch result {
      case .success(let portion):
        chunk += portion.bytes
        progress(chunk.count)
      case .failure(let failure): throw LockstepError(failure, file: reference.name)
      }
    }
    // The reports end as well if the task is cancelled.
    try Task.checkCancellation()
    return chunk
  }
}

extension LockstepError {
  init(_ failure: ChunkFailure, file name: String = "") {
    switch failure {
    case .unavailable:
      self = .fileUnavailable(
        name: name, reason: "neither this device nor the relay has its content")
    case .damaged:
      self = .fileUnavailable(
        name: name, reason: "its content on this disk is damaged; ask for it again")
    case .tooLarge: self = .fileTooLarge(path: name, limit: Limits.chunkBytes)
    case .busy: self = .busy
    case .notJoined: self = .notJoined
    case .refused(let refusal): self = .refused(reason: refusal.detail)
    case .unreachable(let reason): self = .offline(reason: reason)
    case .storage(let error): self = LockstepError(error)
    case .stopping: self = .closed
    }
  }

  init(_ fault: SealFault, file name: String) {
    if let key = fault.keyID {
      self = .fileKeyMissing(name: name, key: key)
    } else {
      self = .fileUnreadable(name: name, reason: SealFault.text(ofKind: fault.kind))
    }
  }
}

/// A file that is read from its beginning. For one thread at a time.
private final class FileSource: @unchecked Sendable {
  private let path: String
  private let descriptor: Int32

  /// - Parameter limit: Greatest number of bytes.
  init(_ path: String, limit: Int) throws(LockstepError) {
    self.path = path
    // Without waiting for the other end of a pipe.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .file(path: path, reason: String(cString: strerror(errno))) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw .file(path: path, reason: "it is no regular file")
    }
    guard Int(status.st_size) <= limit else { throw .fileTooLarge(path: path, limit: limit) }
  }

  deinit { close(descriptor) }

  /// Returns the next `count` bytes; fewer only at the end.
  func read(_ count: Int) throws(LockstepError) -> [UInt8] {
    var filled = 0
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while filled < count {
        let read = SystemCalls.read(
          descriptor, buffer.baseAddress.map { $0 + filled }, count - filled)
        if read < 0 && errno == EINTR { continue }
        if read < 0 { code = errno }
        guard read > 0 else { break }
        filled += read
      }
      initialized = filled
    }
    guard code == 0 else { throw .file(path: path, reason: String(cString: strerror(code))) }
    return bytes
  }
}

/// Copies of files in a home, each in a folder of its own, named by its content:
///
///     HOME/files/<hash of the reference's chunks and seal>/<name>
struct FileCopies {
  /// Time for which an unused copy stays, in seconds.
  private static let keepSeconds = 7 * 24 * 3_600
  private static let nameBytesMax = 200

  private let home: HomeFolder

  init(_ home: HomeFolder) { self.home = home }

  /// Returns the path of the whole copy; nil if there is none.
  func find(_ reference: FileReference) throws(LockstepError) -> String? {
    let path = folder(of: reference) + "/" + Self.name(of: reference)
    var status = stat()
    guard stat(path, &status) == 0, Int(status.st_size) == reference.bytes else { return nil }
    // The time of the last use.
    _ = utimes(path, nil)
    return path
  }

  func begin(_ reference: FileReference) throws(LockstepError) -> Draft {
    let folder = folder(of: reference)
    for path in [home.files, folder] where mkdir(path, 0o700) != 0 && errno != EEXIST {
      throw .file(path: path, reason: String(cString: strerror(errno)))
    }
    return try Draft(folder + "/" + Self.name(of: reference))
  }

  /// Removes what was not used for a while, and what a crash left.
  func removeUnused() {
    home.removeCopies(unusedSince: time(nil) - Self.keepSeconds)
  }

  private func folder(of reference: FileReference) -> String {
    home.files + "/" + reference.contentID
  }

  /// Returns the reference's name as the name of a file in one folder.
  private static func name(of reference: FileReference) -> String {
    let bytes = reference.name.utf8.map { byte -> UInt8 in
      byte == UInt8(ascii: "/") || byte < 0x20 ? UInt8(ascii: "_") : byte
    }
    // A cut in the middle of a character is repaired by the decoding.
    let name = String(decoding: bytes.prefix(nameBytesMax), as: UTF8.self)
    return ["", ".", ".."].contains(name) ? "file" : name
  }

  /// A copy that is being written. Removed unless it is finished. For one thread at a time.
  final class Draft: @unchecked Sendable {
    private static let number = Atomic<UInt64>(0)

    private let path: String
    private let draft: String
    private let descriptor: Int32

    fileprivate init(_ path: String) throws(LockstepError) {
      self.path = path
      let number = Self.number.add(1, ordering: .relaxed).newValue
      draft = "\(path).\(getpid())-\(number)"
      unlink(draft)
      descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw Self.failure(draft) }
    }

    deinit {
      close(descriptor)
      unlink(draft)
    }

    func write(_ bytes: [UInt8]) throws(LockstepError) {
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { SystemCalls.write(descriptor, $0.baseAddress, $0.count) }
        if count < 0 && errno == EINTR { continue }
        guard count >= 0 else { throw Self.failure(draft) }
        rest = rest.dropFirst(count)
      }
    }

    /// Returns the path of the whole copy.
    func finish() throws(LockstepError) -> String {
      // For reading only, since it stands for the content. Durable before it has its name, so that
      // a copy is whole after a crash.
      fchmod(descriptor, 0o400)
      guard FileSync.flush(descriptor), rename(draft, path) == 0 else { throw Self.failure(path) }
      return path
    }

    private static func failure(_ path: String) -> LockstepError {
      errno == ENOSPC
        ? .noSpace(path: path) : .file(path: path, reason: String(cString: strerror(errno)))
    }
  }
}

extension FileReference {
  /// Identifies the content: the SHA-256 of its chunks' hashes and its seal, in hexadecimal.
  fileprivate var contentID: String {
    let digest = SHA256()
    for chunk in chunks { digest.update(chunk.bytes) }
    if let seal { digest.update(Array("\(seal.zone.text) \(seal.key)".utf8)) }
    return ChunkHash(bytes: digest.finish())?.text ?? ""
  }
}
