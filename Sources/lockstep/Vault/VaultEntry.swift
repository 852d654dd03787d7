import LockstepApps
import LockstepModel

/// A file that this device keeps the same as the account's, and its sync state.
struct VaultEntry: Hashable, Sendable {
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

  init(name: String, path: String) {
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
