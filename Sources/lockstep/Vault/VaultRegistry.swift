import Glibc
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
        "\(path) is damaged; move it away, and add the vault's files again (lockstep agent vault "
          + "add): nothing is lost by that")
    }
  }

  /// Names that look alike are equal even if their bytes differ, because people could not
  /// distinguish them.
  subscript(_ name: String) -> VaultEntry? { entries.first { $0.name == name } }

  /// Adds or replaces an entry. Returns once it would survive a power failure; if it throws,
  /// nothing has changed.
  mutating func put(_ entry: VaultEntry) throws(CommandFailure) {
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
