import LockstepApps
import LockstepModel

/// A file that this device keeps the same as the account's, and how far it has come with it.
struct VaultEntry: Hashable, Sendable {
  /// In the vault; the file itself may be called otherwise.
  let name: String
  /// From the root.
  let path: String
  /// Its record is not sealed.
  var isPlain = false
  /// It stands here because another file of the home has it as its conflict copy.
  var isCopy = false
  /// The content that file and account had in common last; nil where they never had, or where both
  /// have none.
  var agreed: ChunkHash?
  /// All chunks of `agreed` were put into the home by this device.
  var isHeld = false
  /// What was read last, and what told then that nobody wrote since.
  var seen: Seen?
  /// The folder when the file last stood in it.
  var folder: FolderMark?
  /// Under way when the process ended, if it did.
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
