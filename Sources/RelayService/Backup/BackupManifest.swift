import LockstepCommandLine
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepStorageSQLite
import LockstepTerminal

/// Manifest of a backup, in a file beside the database: time, program version, counts, and the hash
/// that identifies the database.
package struct BackupManifest: Hashable {
  /// Version of the manifest's format.
  static let format: Int64 = 1
  static let name = "backup.json"

  /// Time of the backup, in milliseconds since the Unix epoch.
  var madeAt: Int64
  /// Version of the program that made the backup.
  var version: String
  var counts: StoreCounts
  /// Number of chunks that the store itself lacked.
  var lacking: Int
  /// SHA-256 of the database, in hexadecimal digits.
  var databaseHash: String

  var json: JSONValue {
    counts.json.setting("format", to: JSONValue(integerLiteral: Self.format))
      .setting("madeAt", to: JSONValue(integerLiteral: madeAt))
      .setting("version", to: .string(version))
      .setting("piecesLacking", to: JSONValue(integerLiteral: Int64(lacking)))
      .setting("databaseSha256", to: .string(databaseHash))
  }

  /// Reads the manifest of the backup in that folder. Throws if there is none.
  package static func read(from folder: String) throws(CommandFailure) -> BackupManifest {
    let path = folder + "/" + name
    guard FolderTree.exists(path) else {
      throw CommandFailure(
        "\(folder) is no backup: it lacks \(name); name one that relay backup made")
    }
    let bytes = try FolderTree.openFile(path).contents(atMost: 64 << 10, path)
    guard let json = JSONValue(ifJSON: bytes), let manifest = BackupManifest(json) else {
      throw CommandFailure("the backup \(folder) is damaged: \(name) cannot be read")
    }
    return manifest
  }

  init(
    madeAt: Int64, version: String, counts: StoreCounts, lacking: Int, databaseHash: String
  ) {
    self.madeAt = madeAt
    self.version = version
    self.counts = counts
    self.lacking = lacking
    self.databaseHash = databaseHash
  }

  /// Returns nil if a member is missing. Ignores members of later formats.
  init?(_ json: JSONValue) {
    guard json["format"]?.int64 ?? 0 >= Self.format, let madeAt = json["madeAt"]?.int64,
      let version = json["version"]?.string, let counts = StoreCounts(json),
      let lacking = json["piecesLacking"]?.int64.flatMap(Int.init(exactly:)),
      let hash = json["databaseSha256"]?.string
    else { return nil }
    self.init(
      madeAt: madeAt, version: version, counts: counts, lacking: lacking, databaseHash: hash)
  }

  /// Returns the hash of a file in the form of `databaseHash`, or nil if interrupted.
  static func hash(
    of path: String, goesOn: () -> Bool
  ) throws(CommandFailure) -> String? {
    let file = try FolderTree.openFile(path)
    let hash = SHA256()
    while true {
      let bytes = try file.read(1 << 20)
      if bytes.isEmpty { return HexText.text(of: hash.finish()) }
      hash.update(bytes)
      guard goesOn() else { return nil }
    }
  }
}

extension StoreCounts {
  private static var members: [(name: String, value: WritableKeyPath<StoreCounts, Int>)] {
    [
      ("schema", \.schema), ("accounts", \.accounts), ("devices", \.devices),
      ("records", \.records), ("pieces", \.chunks),
    ]
  }

  package var json: JSONValue {
    let numbers = Self.members.map {
      JSONMember($0.name, JSONValue(integerLiteral: Int64(self[keyPath: $0.value])))
    }
    return JSONValue.object(numbers)
      .setting("pieceBytes", to: JSONValue(integerLiteral: chunkBytes))
      .setting("databaseBytes", to: JSONValue(integerLiteral: databaseBytes))
  }

  package init?(_ json: JSONValue) {
    self.init()
    for member in Self.members {
      guard let number = json[member.name]?.int64, let value = Int(exactly: number) else {
        return nil
      }
      self[keyPath: member.value] = value
    }
    guard let chunkBytes = json["pieceBytes"]?.int64,
      let databaseBytes = json["databaseBytes"]?.int64
    else { return nil }
    self.chunkBytes = chunkBytes
    self.databaseBytes = databaseBytes
  }

  /// Text such as `3 accounts, 7 devices, 1204 records (2.1 MiB)`, with the number and bytes of
  /// chunks.
  package var text: String {
    func of(_ count: Int, _ one: String, _ many: String) -> String {
      "\(count) \(count == 1 ? one : many)"
    }
    return [
      of(accounts, "account", "accounts"), of(devices, "device", "devices"),
      of(records, "record", "records") + " (\(ByteCount.text(databaseBytes)))",
      of(chunks, "chunk of a file", "chunks of files") + " (\(ByteCount.text(chunkBytes)))",
    ].joined(separator: ", ")
  }
}
