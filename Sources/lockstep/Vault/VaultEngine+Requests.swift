import Glibc
import LockstepApps
import LockstepClient
import LockstepEventLoop
import LockstepModel

/// Requests of commands to the mirror. Each is answered at once, even during other work; bytes are
/// transferred afterwards.
///
///     {"do": "add", "path": absolute, "name": in the vault, "plain": bool}
///     {"do": "forget", "name": …}
///     {"do": "look"}                              check all files now
extension VaultEngine {
  func answer(_ request: JSONValue) -> HomeReply {
    do throws(VaultRefusal) {
      guard registry != nil else {
        throw VaultRefusal("\(home.vault) cannot be used; see what lockstep agent run says")
      }
      switch request["do"]?.string {
      case "add": return .success(try add(request))
      case "forget": return .success(try forget(request))
      case "look":
        for name in tracks.keys {
          tracks[name]?.wakes(at: now)
          tracks[name]?.isCheckAwaited = true
        }
        return .success(["files": .number(JSONNumber(Int64(tracks.count)))])
      default: throw VaultRefusal("the vault does not know that request")
      }
    } catch {
      return .failure(error.reason)
    }
  }

  /// Refusal: nothing was done. A sentence for a person.
  struct VaultRefusal: Error {
    let reason: String
    init(_ reason: String) { self.reason = reason }
  }

  // MARK: add

  private func add(_ request: JSONValue) throws(VaultRefusal) -> JSONValue {
    guard let given = request["path"]?.string, given.hasPrefix("/") else {
      throw VaultRefusal("the file must be named from the root")
    }
    guard let path = FilePath.absolute(given) else {
      throw VaultRefusal(
        "the folder \(FilePath.folder(of: given)) is not there; make it, then try again")
    }
    let name = request["name"]?.string ?? FilePath.name(of: path)
    guard VaultManifest.isName(name) else {
      throw VaultRefusal("\u{201C}\(name)\u{201D} is no name for a file; give one with --name")
    }
    if let standing = try standing(name, path) {
      try overrule(standing)
      return VaultEngine.told(standing)
    }
    let isThere = try look(at: path)
    var entry = VaultEntry(name: name, path: path)
    entry.isPlain = try isPlain(name, wanted: request["plain"]?.bool ?? false, isThere, path)
    if entry.isPlain, VaultSeal.plain.recordName(of: name) == nil {
      throw VaultRefusal(
        "a file that is not sealed cannot be called \(name) in the vault: that is a record of its "
          + "own; give it another name with --name")
    }
    do throws(VaultFault) {
      try put(entry)
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    tracks[name] = VaultTrack()
    tracks[name]?.wakes(at: now)
    watchFolders()
    return VaultEngine.told(entry)
  }

  /// Lets a file that is added again replace the current record, if that is not a valid record of
  /// this file.
  private func overrule(_ entry: VaultEntry) throws(VaultRefusal) {
    do throws(VaultFault) {
      try refreshShelf()
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    guard let name = recordName(of: entry), let record = shelf[name] else { return }
    do throws(VaultRecord.Unfit) {
      _ = try record.version(of: entry.name, isPlain: entry.isPlain)
    } catch {
      tracks[entry.name]?.overruled = record.record
      tracks[entry.name]?.state = .syncing
      tracks[entry.name]?.reason = nil
      tracks[entry.name]?.wakes(at: now)
    }
  }

  private static func told(_ entry: VaultEntry) -> JSONValue {
    ["name": .string(entry.name), "path": .string(entry.path), "plain": .bool(entry.isPlain)]
  }

  /// Returns the entry if the same file is kept already.
  private func standing(_ name: String, _ path: String) throws(VaultRefusal) -> VaultEntry? {
    let entries = registry?.entries ?? []
    if let entry = registry?[name] {
      if entry.path == path { return entry }
      throw VaultRefusal(
        "\(name) is kept at \(entry.path) already; give this one another name with --name, or "
          + "forget that one first (lockstep agent vault forget)")
    }
    if let entry = entries.first(where: { $0.path == path }) {
      throw VaultRefusal("\(path) is kept already, as \(entry.name)")
    }
    let ownFolder = FilePath.real(home.path) ?? home.path
    if path.hasPrefix(ownFolder + "/") {
      throw VaultRefusal("\(path) lies in the home itself; keep files elsewhere")
    }
    guard entries.count < Limits.vaultFiles else {
      throw VaultRefusal(
        "\(Limits.vaultFiles) files are kept already; forget some (lockstep agent vault forget)")
    }
    return nil
  }

  private func look(at path: String) throws(VaultRefusal) -> Bool {
    switch FileInfo(path) {
    case .absent: return false
    case .folder: throw VaultRefusal("\(path) is a folder; add the files in it one by one")
    case .unfit(let reason): throw VaultRefusal(reason)
    case .file(let signature, _):
      guard signature.bytes <= Int64(ContentChunker.bytesMax) else {
        throw VaultRefusal(
          "\(path) has \(ByteCount.text(signature.bytes)), and "
            + "\(ByteCount.text(Int64(ContentChunker.bytesMax))) are the most")
      }
      do throws(VaultFault) {
        _ = try FileContent(path)
      } catch {
        throw VaultRefusal(VaultEngine.sentence(error))
      }
      return true
    }
  }

  /// True if the file's record is unencrypted: as in the account, otherwise as requested. An
  /// unencrypted record may come from outside the account, and must not make a file unencrypted
  /// that a person wants sealed.
  private func isPlain(
    _ name: String, wanted: Bool, _ isThere: Bool, _ path: String
  ) throws(VaultRefusal) -> Bool {
    do throws(VaultFault) {
      try refreshShelf()
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    let standing = shelf.values.filter {
      $0.contents.map { $0.manifest.file.utf8.elementsEqual(name.utf8) } ?? false
    }
    if standing.contains(where: { !$0.isPlain }) { return false }
    if !standing.isEmpty {
      guard wanted else {
        throw VaultRefusal(
          "the account's file \(name) is not sealed: the relay's owner can read it, and may have "
            + "put it there; add it with --plain if that is meant, or under another --name")
      }
      return true
    }
    guard isThere else {
      throw VaultRefusal(
        "there is no file \(path), and the account has none called \(name); see lockstep agent "
          + "vault list")
    }
    if !wanted && homeSeal == nil {
      throw VaultRefusal(
        "this device does not have the vault's key; bring it with lockstep agent vault unlock")
    }
    return wanted
  }

  private static func sentence(_ fault: VaultFault) -> String {
    switch fault {
    case .problem(let reason), .waiting(let reason): reason
    case .changed: "the file was changed just now; try again"
    case .stopping: "this home is being closed; try again"
    }
  }

  // MARK: forget

  private func forget(_ request: JSONValue) throws(VaultRefusal) -> JSONValue {
    guard let name = request["name"]?.string, let entry = registry?[name] else {
      throw VaultRefusal(
        "this home keeps no file called so; see lockstep agent vault status")
    }
    let original = VaultFileResolver.original(ofCopy: name)
    if entry.isCopy, let original, registry?[original] != nil {
      throw VaultRefusal(
        "\(name) is a conflict copy of \(original): delete the file, and it is gone everywhere")
    }
    let copies = (registry?.entries ?? []).filter { copy in
      copy.isCopy && isCopy(copy.name, of: name)
    }
    do throws(VaultFault) {
      try forget([name] + copies.map(\.name))
    } catch {
      throw VaultRefusal(VaultEngine.sentence(error))
    }
    return VaultEngine.told(entry)
  }

  /// True for a copy, or a copy of a copy.
  private func isCopy(_ copy: String, of name: String) -> Bool {
    var copy = copy
    while let original = VaultFileResolver.original(ofCopy: copy) {
      if original == name { return true }
      copy = original
    }
    return false
  }

  /// Removes files from the registry. The files themselves stay, and are no longer watched.
  func forget(_ names: [String]) throws(VaultFault) {
    do throws(CommandFailure) {
      try registry?.remove(names)
    } catch {
      throw .problem(error.message ?? "the home cannot be written")
    }
    for name in names { tracks[name] = nil }
    watchFolders()
  }
}
