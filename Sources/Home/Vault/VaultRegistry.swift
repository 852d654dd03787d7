import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepLanguage
import LockstepModel

/// Files that a home keeps, in `HOME/vault.json`. Each change writes the whole file again.
struct VaultRegistry {
  private(set) var entries: [VaultEntry] = []
  private let path: String

  /// Maximum bytes of a registry; it usually has a few files of a few hundred bytes each.
  private static let bytesMax = 16 << 20

  init(home: HomeFolder) throws(CommandFailure) {
    path = home.vault
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 {
      if errno == ENOENT { return }
      throw PlainFile.failure(path, "be read", errno)
    }
    let file = PlainFile(path: path, descriptor: descriptor)
    let bytes = try file.contents(atMost: VaultRegistry.bytesMax, path)
    do throws(JSONFault) {
      entries = (try JSONValue(parsing: bytes)["files"]?.array ?? []).compactMap(VaultEntry.init)
    } catch {
      throw CommandFailure(
        localized(
          "{path} is damaged; move it away, and add the vault's files again (lockstep vault add): "
            + "nothing is lost by that", ["path": path]))
    }
  }

  /// Names that look alike are equal even if their bytes differ, because people could not
  /// distinguish them.
  subscript(_ name: String) -> VaultEntry? { entries.first { $0.name == name } }

  /// Adds or replaces an entry. Returns once it would survive a power failure; if it throws,
  /// nothing has changed.
  mutating func store(_ entry: VaultEntry) throws(CommandFailure) {
    var next = entries
    if let index = next.firstIndex(where: { $0.name == entry.name }) {
      if next[index] == entry { return }
      next[index] = entry
    } else {
      next.append(entry)
    }
    try write(next)
  }

  mutating func remove(_ names: [String]) throws(CommandFailure) {
    let next = entries.filter { !names.contains($0.name) }
    if next.count != entries.count { try write(next) }
  }

  private mutating func write(_ next: [VaultEntry]) throws(CommandFailure) {
    let json: JSONValue = ["files": .array(next.map(\.json))]
    let fresh = path + ".new"
    do {
      let descriptor = PlainFile.makeDraft(fresh)
      guard descriptor >= 0 else { throw PlainFile.failure(fresh, "be written", errno) }
      let file = PlainFile(path: fresh, descriptor: descriptor)
      try file.write(json.serialized())
      guard fsync(descriptor) == 0 else { throw PlainFile.failure(fresh, "be written", errno) }
      withExtendedLifetime(file) {}
    }
    guard rename(fresh, path) == 0 else { throw PlainFile.failure(path, "be written", errno) }
    FileSwap.syncFolder(FilePath.folder(of: path))
    entries = next
  }
}

/// A file that this device keeps the same as the account's, and its sync state.
package struct VaultEntry: Hashable, Sendable {
  /// Name in the vault; the file itself may have another name.
  let name: String
  /// Absolute path of the file.
  let path: String
  /// True if its record is not sealed.
  var isPlain = false
  /// True if the file is kept as a conflict copy of another file of the home.
  var isCopy = false
  /// Content that file and account last had in common; nil if they never had any, or if both have
  /// none.
  var agreed: ChunkHash?
  /// True if this device has put all chunks of `agreed` into the home.
  var isHeld = false
  /// Content read last, and the signature that shows that the file was not written since.
  var seen: Seen?
  /// Folder that last contained the file.
  var folder: FolderMark?
  /// Replacement in progress, possibly since before the process started.
  var swap: FileSwap?

  struct Seen: Hashable, Sendable {
    var signature: FileSignature
    var content: ChunkHash
  }

  package init(name: String, path: String) {
    self.name = name
    self.path = path
  }

  var folderPath: String { FilePath.folder(of: path) }

  init?(_ json: JSONValue) {
    guard let name = json["name"]?.string, VaultManifest.isName(name),
      let path = json["path"]?.string, path.hasPrefix("/")
    else { return nil }
    self.init(name: name, path: path)
    isPlain = json["plain"]?.bool ?? false
    isCopy = json["copy"]?.bool ?? false
    agreed = VaultEntry.hash(json["agreed"])
    isHeld = json["held"]?.bool ?? false
    if let content = VaultEntry.hash(json["seen"]),
      let signature = FileSignature(json["signature"])
    {
      seen = Seen(signature: signature, content: content)
    }
    folder = FolderMark(json["folder"])
    swap = FileSwap(json["swap"])
  }

  static func hash(_ json: JSONValue?) -> ChunkHash? { json?.string.flatMap(ChunkHash.init(text:)) }

  var json: JSONValue {
    var json: JSONValue = [
      "name": .string(name), "path": .string(path), "plain": .bool(isPlain),
      "copy": .bool(isCopy), "held": .bool(isHeld),
    ]
    json = json.setting("agreed", to: agreed.map { .string($0.text) })
    json = json.setting("seen", to: seen.map { .string($0.content.text) })
    json = json.setting("signature", to: seen.map { $0.signature.json })
    json = json.setting("folder", to: folder.map(\.json))
    return json.setting("swap", to: swap.map(\.json))
  }
}

/// State of a file that the mirror keeps while it runs, with the time of the next check.
package struct VaultTrack {
  package enum State: String {
    /// Not checked yet.
    case unknown
    case synced
    /// Being checked, or waiting for something.
    case syncing
    case uploading
    case downloading
    /// Nothing is done until something changes; `reason` gives the reason.
    case error
  }

  package var state = State.unknown
  /// Sentence for a person: the reason of the error, or of the wait.
  package var reason: LocalizedText?
  /// Bytes of the file, if there is one.
  package var size: Int?
  /// Bytes of the current transfer.
  package var bytesDone = 0
  package var bytesInAll = 0

  /// Time of the next check.
  package var due: Instant?
  /// Checks that commands have requested, and those of them that have ended. A check in progress
  /// does not know what was synced before a request, so its result does not answer it.
  var checksRequested = 0
  var checksEnded = 0
  /// Time at which the first of several successive writes was noticed.
  var touchedAt: Instant?
  /// Time at which the file disappeared, perhaps not for good.
  var goneSince: Instant?
  /// True if the file may have been written since it was read: unchanged times are no proof then.
  var isSuspect = false
  /// Number of successive checks that failed because the file was written meanwhile.
  var restarts = 0
  package var retryMilliseconds: Int64 = 0

  /// Record that is not valid for this file, and that a person has allowed the file to replace.
  var replaceable: Record?

  /// True until the relay has acknowledged the local change.
  var isUnsent = false
  /// Chunks that are being uploaded, with the number of their bytes that have arrived.
  package var upload: [ChunkHash: Part] = [:]

  package init() {}

  package struct Part: Hashable {
    package var bytes: Int
    package var done = 0
  }

  /// Schedules the next check, no later than `instant`.
  package mutating func scheduleCheck(at instant: Instant) {
    due = due.map { min($0, instant) } ?? instant
  }

  /// Handles an event of the file. Further events postpone the check, but not without limit.
  package mutating func handleEvent(_ kind: FileEvent.Kind, at now: Instant) {
    let first = touchedAt ?? now
    touchedAt = first
    let latest = first.advanced(milliseconds: Limits.vaultBusyMilliseconds)
    switch kind {
    case .written, .gone:
      due = min(now.advanced(milliseconds: Limits.vaultClosedMilliseconds), latest)
    case .writing, .touched:
      due = min(now.advanced(milliseconds: Limits.vaultWritingMilliseconds), latest)
    case .folderGone, .overflow, .mounts: due = now
    }
    if kind != .touched { isSuspect = true }
  }

  /// Returns false if the chunk is not part of this file's upload.
  mutating func applyProgress(_ progress: ChunkProgress) -> Bool {
    guard let part = upload[progress.hash], progress.direction == .up else { return false }
    bytesDone += max(0, progress.bytesDone - part.done)
    upload[progress.hash]?.done = max(part.done, progress.bytesDone)
    return true
  }

  package func json(_ entry: VaultEntry) -> JSONValue {
    func number(_ value: Int?) -> JSONValue {
      value.map { .number(JSONNumber(Int64($0))) } ?? .null
    }
    let isOver = state == .synced || state == .error
    let shown = checksEnded < checksRequested && isOver ? .syncing : state
    let json: JSONValue = [
      "name": .string(entry.name), "path": .string(entry.path), "state": .string(shown.rawValue),
      "reason": reason.map { .string($0.english) } ?? .null, "size": number(size),
      "bytesDone": number(bytesDone), "bytesInAll": number(bytesInAll),
      "plain": .bool(entry.isPlain), "copy": .bool(entry.isCopy),
    ]
    let translations = reason?.translations ?? []
    if translations.isEmpty { return json }
    return json.setting(
      "translations",
      to: .object(translations.map { JSONMember($0.tag, .string($0.text)) }))
  }
}
