import CLinux
import Glibc
import LockstepApps
import LockstepClient
import LockstepCrypto
import LockstepEventLoop
import LockstepModel

/// State of a file, as just checked.
struct VaultFileState {
  var content: ChunkHash
  var signature: FileSignature
  var rights: FileInfo.FileRights
}

/// One step for one file: check the file and its record, and execute the plan.
extension VaultEngine {
  /// Performs one step. If more is left to do, makes the file due at once.
  func step(_ name: String) throws(VaultFault) {
    try refreshShelf()
    guard let standing = registry?[name] else { return }
    if try completeSwap(of: standing) { tracks[name]?.isSuspect = true }
    let file = try look(name)
    guard let entry = registry?[name] else { return }
    let seal = try seal(of: entry)
    guard let key = seal.recordName(of: entry.name) else {
      throw .problem("\(entry.name) is no name for a record; forget it, and add it with --name")
    }
    let record = shelf[key]?.record
    let contents = try contents(of: entry, isThere: file != nil, in: shelf[key])
    let isOverruled = record != nil && contents == nil
    let plan =
      isOverruled
      ? .push
      : VaultPlan(
        agreed: entry.agreed, file: file.map { version($0) },
        record: record.flatMap { record in
          contents.map { .init($0.manifest.sha256, at: record.modifiedAt) }
        }, isCopied: file.map { isCopied($0.content, of: entry) } ?? false)
    if plan != .deleteRecord { tracks[name]?.goneSince = nil }
    tracks[name]?.size = file.map { Int($0.signature.bytes) }
    switch plan {
    case .settled: return try settle(entry, file)
    case .push: try push(entry, seal, over: record, contents)
    case .pull: try pull(entry, seal, record, contents, over: file)
    case .removeFile: try remove(entry)
    case .deleteRecord: return try delete(entry, record)
    case .keepBoth(.record):
      try copyFile(entry, seal, file, at: (file?.signature.modifiedAt ?? 0) + clockOffset)
    // Named by the record's time, so that all devices make the same copy.
    case .keepEmptied: try copyFile(entry, seal, file, at: record?.modifiedAt ?? 0)
    case .keepBoth(.file): try copyRecord(entry, seal, record, contents)
    }
    tracks[name]?.wakes(at: now)
  }

  private func version(_ file: VaultFileState) -> VaultPlan.Version {
    VaultPlan.Version(file.content, at: file.signature.modifiedAt + clockOffset)
  }

  /// Returns the account's version of the file. Returns nil if there is none, or if a person has
  /// ordered that the file replaces a record that is not valid for it.
  private func contents(
    of entry: VaultEntry, isThere: Bool, in record: VaultRecord?
  ) throws(VaultFault) -> VaultSeal.Contents? {
    guard let record else { return nil }
    do throws(VaultRecord.Unfit) {
      return try record.version(of: entry.name, isPlain: entry.isPlain)
    } catch {
      if isThere, tracks[entry.name]?.overruled == record.record { return nil }
      throw .problem(VaultEngine.reason(error) + "; " + VaultEngine.wayOut)
    }
  }

  private static func reason(_ unfit: VaultRecord.Unfit) -> String {
    switch unfit {
    case .otherType:
      "what the account has in its place is not a file's record: another program, or the relay, "
        + "has put it there"
    case .notSealed:
      "what the account has in its place is not sealed: a device without the vault's key, or the "
        + "relay, has put it there"
    case .sealed: "what the account has in its place is sealed, and this file is not"
    case .unreadable: "what the account has of it cannot be read on this device"
    }
  }

  private static let wayOut =
    "the file stays as it is; to put this device's version there, add it again "
    + "(lockstep agent vault add)"

  /// True if the account has a conflict copy of the file with this content.
  private func isCopied(_ content: ChunkHash, of entry: VaultEntry) -> Bool {
    shelf.values.contains { record in
      guard record.isPlain == entry.isPlain, let manifest = record.contents?.manifest else {
        return false
      }
      return manifest.sha256 == content
        && VaultFileResolver.original(ofCopy: manifest.file) == entry.name
    }
  }

  // MARK: state of a file

  /// Returns the state of the file, or nil if it is missing from an existing folder.
  private func look(_ name: String) throws(VaultFault) -> VaultFileState? {
    guard var entry = registry?[name] else { return nil }
    guard case .folder(let mark) = FileInfo(entry.folderPath) else {
      throw .problem(
        "the folder \(entry.folderPath) is not there; bring it back, or forget the file "
          + "(lockstep agent vault forget)")
    }
    try requireWatch(of: entry.folderPath)
    switch FileInfo(entry.path) {
    case .absent: return nil
    case .folder:
      throw .problem("a folder stands at \(entry.path); move it away, or forget the file")
    case .unfit(let reason): throw .problem(reason)
    case .file(let signature, let rights):
      guard signature.bytes <= Int64(ContentChunker.bytesMax) else {
        throw .problem(
          "it has \(ByteCount.text(signature.bytes)), and "
            + "\(ByteCount.text(Int64(ContentChunker.bytesMax))) are the most")
      }
      if let seen = entry.seen, seen.signature == signature, entry.folder == mark,
        tracks[name]?.isSuspect == false
      {
        return VaultFileState(content: seen.content, signature: signature, rights: rights)
      }
      tracks[name]?.state = .syncing
      tracks[name]?.reason = nil
      tracks[name]?.isSuspect = false
      let (content, read) = try FileContent.hash(entry.path) { () throws(VaultFault) in
        try breathe()
      }
      guard read == signature else { throw .changed }
      // The system's clock for files is coarse: a later write may leave the same time as a recent
      // one.
      let age = wall - max(signature.modified, signature.changed) / 1_000_000
      let isOld = age > Limits.vaultClosedMilliseconds / 2
      // A command may have made the mirror forget the file while it was read.
      guard let current = registry?[name] else { throw .changed }
      entry = current
      entry.seen = isOld ? .init(signature: signature, content: content) : nil
      entry.folder = mark
      try put(entry)
      return VaultFileState(content: content, signature: signature, rights: rights)
    }
  }

  // MARK: steps without transfers

  private func settle(_ entry: VaultEntry, _ file: VaultFileState?) throws(VaultFault) {
    if file == nil, entry.isCopy {
      try forget([entry.name])
      return
    }
    var entry = entry
    if entry.agreed != file?.content {
      entry.agreed = file?.content
      entry.isHeld = false
      try put(entry)
    }
    guard tracks[entry.name]?.isUnsent ?? false else { return rest(entry.name) }
    if tracks[entry.name]?.state != .error { tracks[entry.name]?.state = .uploading }
    settleSent(entry.name)
  }

  /// Removes a file that was deleted on another device and not changed here.
  private func remove(_ entry: VaultEntry) throws(VaultFault) {
    var entry = entry
    tracks[entry.name]?.state = .syncing
    let swap = FileSwap(
      path: entry.path, temporary: temporary(entry), incoming: nil, expected: entry.agreed)
    entry.swap = swap
    try put(entry)
    let result: Result<FileSwap.End, VaultFault> = captured { () throws(VaultFault) in
      try swap.remove()
    }
    // The swap stays in the registry until the replaced content is safe.
    if case .success(.kept(let place)) = result { try keepAside(place, of: entry) }
    entry.swap = nil
    if case .success(let end) = result, end != .changed {
      (entry.agreed, entry.isHeld, entry.seen) = (nil, false, nil)
    }
    try put(entry)
    switch try result.get() {
    case .changed: throw .changed
    case .kept: break
    case .done: history.add(.init(.removed, entry.name, at: wall))
    }
  }

  /// Deletes the record of a file that was deleted here. Not at once, because an editor may be
  /// about to create it again.
  private func delete(_ entry: VaultEntry, _ base: Record?) throws(VaultFault) {
    guard let base else { return }
    if let mark = entry.folder, FileInfo(entry.folderPath) != .folder(mark) {
      throw .problem(
        "\(entry.path) is gone, and its folder is another one than it was: if a disk is not "
          + "mounted, mount it; if it was deleted, forget it (lockstep agent vault forget)")
    }
    tracks[entry.name]?.state = .syncing
    let since = tracks[entry.name]?.goneSince ?? now
    tracks[entry.name]?.goneSince = since
    let end = since.advanced(milliseconds: Limits.vaultGoneMilliseconds)
    guard end <= now else {
      tracks[entry.name]?.wakes(at: end)
      return
    }
    try edit(
      EditRequest(key: base.key, type: base.type) { context throws(EditRefusal) in
        try VaultEngine.require(context.current, is: base)
        return nil
      })
    var entry = entry
    (entry.agreed, entry.isHeld, entry.seen) = (nil, false, nil)
    try put(entry)
    tracks[entry.name]?.isUnsent = true
    history.add(.init(.deleted, entry.name, at: wall))
    tracks[entry.name]?.wakes(at: now)
  }

  /// Makes a conflict copy of the file, because the account's version is newer and keeps the name.
  /// The copy is a record; its file follows from the record, as on every device. `modifiedAt`: time
  /// in the copy's name.
  private func copyFile(
    _ entry: VaultEntry, _ seal: VaultSeal, _ file: VaultFileState?, at modifiedAt: Int64
  ) throws(VaultFault) {
    guard let file else { throw .changed }
    let name = VaultFileResolver.conflictName(of: entry.name, modifiedAt: modifiedAt)
    let cut = try cut(entry, as: name, seal, known: [:])
    guard cut.manifest.sha256 == file.content else { throw .changed }
    try save(copy: cut.manifest, chunks: cut.chunks, of: entry, seal)
    var entry = entry
    // The file's content is safe now: the account's version may replace it.
    (entry.agreed, entry.isHeld) = (file.content, false)
    try put(entry)
    tracks[entry.name]?.isUnsent = true
  }

  /// Makes a conflict copy of the account's version, because the file is newer and keeps the name.
  private func copyRecord(
    _ entry: VaultEntry, _ seal: VaultSeal, _ record: Record?, _ contents: VaultSeal.Contents?
  ) throws(VaultFault) {
    guard let record, var contents else { throw .changed }
    contents.manifest.file = VaultFileResolver.conflictName(
      of: entry.name, modifiedAt: record.modifiedAt)
    try save(copy: contents.manifest, chunks: contents.chunks, of: entry, seal)
    var entry = entry
    (entry.agreed, entry.isHeld) = (contents.manifest.sha256, false)
    try put(entry)
    tracks[entry.name]?.isUnsent = true
  }

  private func save(
    copy: VaultManifest, chunks: [ChunkHash], of entry: VaultEntry, _ seal: VaultSeal
  ) throws(VaultFault) {
    guard let name = seal.recordName(of: copy.file) else {
      throw .problem("\(copy.file) is no name for a record; give the file a shorter one")
    }
    if let standing = shelf[name] {
      let contents = captured { () throws(VaultRecord.Unfit) in
        try standing.version(of: copy.file, isPlain: entry.isPlain)
      }
      guard case .success(let contents) = contents else {
        throw .problem(
          "\(copy.file), beside it, cannot be read on this device, or is not sealed alike")
      }
      if contents.manifest.sha256 == copy.sha256 { return }
    }
    let base = shelf[name]?.record
    let fields = seal.fields(of: copy, chunks: chunks)
    let key = RecordKey(zone: VaultApp.zone, name: name)
    try edit(
      EditRequest(key: key, type: VaultApp.fileType) { context throws(EditRefusal) in
        try VaultEngine.require(context.current, is: base)
        return fields
      })
    shelfChanges += 1
  }

  /// Keeps content that another program wrote between check and replacement, as a conflict copy.
  func keepAside(_ place: String, of entry: VaultEntry) throws(VaultFault) {
    guard case .file(let signature, _) = FileInfo(place) else { return }
    let at = signature.modifiedAt + clockOffset
    for attempt in 0..<100 {
      let name = VaultFileResolver.conflictName(of: entry.name, modifiedAt: at + Int64(attempt))
      let path = FilePath.joined(entry.folderPath, name)
      if linux_rename_new(place, path) == 0 { return try keep(copy: name, of: entry) }
      guard errno == EEXIST else {
        throw .problem("\(place) holds another version and cannot be renamed: move it yourself")
      }
    }
    throw .problem("\(place) holds another version; move it to a name of your own")
  }

  // MARK: shared by the steps

  /// Changes a record durably.
  func edit(_ request: EditRequest) throws(VaultFault) {
    guard case .edited(_, let result) = try ask({ .edit($0, request) }) else { return }
    shelfChanges += 1
    switch result {
    case .success: _ = order { .readStatus($0) }
    case .failure(.refused(VaultEngine.moved)): throw .changed
    case .failure(.stopping): throw .stopping
    case .failure(let failure): throw .problem(failure.explanation)
    }
  }

  private static let moved = EditRefusal("the record has changed; look at it again")

  /// Throws unless the record is the one on which the plan was made.
  static func require(_ current: Record?, is base: Record?) throws(EditRefusal) {
    guard current?.fields == base?.fields else { throw moved }
  }

  /// Returns a path beside the file that no other program uses, the same after every start.
  func temporary(_ entry: VaultEntry) -> String {
    let digest = SHA256.hash(Array("\(home.path)\n\(entry.name)".utf8))
    let own = String((ChunkHash(bytes: digest)?.text ?? "").prefix(12))
    let name = CopyName.text("." + FilePath.name(of: entry.path), ".lockstep-" + own)
    return FilePath.joined(entry.folderPath, name)
  }

  /// Repairs the state after a crash during a replacement, or while the new file was written.
  func recover(_ entry: VaultEntry) {
    do throws(VaultFault) {
      if try !completeSwap(of: entry) { unlink(temporary(entry)) }
    } catch {
      log.error("\(entry.path): \(error)")
    }
  }

  /// Completes an unfinished replacement. Returns false if there was none.
  func completeSwap(of entry: VaultEntry) throws(VaultFault) -> Bool {
    guard let swap = entry.swap else { return false }
    if case .kept(let place) = swap.recover() { try keepAside(place, of: entry) }
    var entry = registry?[entry.name] ?? entry
    entry.swap = nil
    try put(entry)
    return true
  }

  func captured<Value, Fault: Error>(
    _ body: () throws(Fault) -> Value
  ) -> Result<Value, Fault> {
    do throws(Fault) {
      return .success(try body())
    } catch {
      return .failure(error)
    }
  }
}
