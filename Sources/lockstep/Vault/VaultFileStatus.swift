import LockstepApps
import LockstepModel

/// Where a file stands, as the mirror tells it, for commands and for people.
struct VaultFileStatus: Hashable {
  let name: String
  let path: String
  let state: VaultTrack.State
  let reason: String?
  let size: Int64?
  let bytesDone: Int64
  let bytesInAll: Int64
  let isPlain: Bool
  let isCopy: Bool
  /// As it was told.
  let json: JSONValue

  init?(_ json: JSONValue) {
    guard let name = json["name"]?.string, let path = json["path"]?.string,
      let state = json["state"]?.string.flatMap(VaultTrack.State.init(rawValue:))
    else { return nil }
    self.json = json
    self.name = name
    self.path = path
    self.state = state
    reason = json["reason"]?.string
    size = json["size"]?.int64
    bytesDone = json["bytesDone"]?.int64 ?? 0
    bytesInAll = json["bytesInAll"]?.int64 ?? 0
    isPlain = json["plain"]?.bool ?? false
    isCopy = json["copy"]?.bool ?? false
  }

  /// Of all files, as `HomeRequest.mirrorStatus` is answered.
  static func all(_ mirror: JSONValue) -> [VaultFileStatus] {
    (mirror["files"]?.array ?? []).compactMap(VaultFileStatus.init)
  }

  /// Nothing more is done with it by itself.
  var isDone: Bool {
    switch state {
    case .synced, .error: true
    case .unknown, .syncing, .uploading, .downloading: false
    }
  }

  /// It goes on once something else lets it: the relay, or another program.
  var isWaiting: Bool { !isDone && reason != nil }

  /// `45 %  5.6 MiB of 12.5 MiB`; empty where nothing is on its way.
  var progress: String {
    guard bytesInAll > 0, state == .uploading || state == .downloading else { return "" }
    let done = min(bytesDone, bytesInAll)
    return "\(done * 100 / bytesInAll) %  \(ByteCount.text(done)) of \(ByteCount.text(bytesInAll))"
  }

  /// `▓▓▓▓░░░░░░`, of so many places; blank where nothing is on its way.
  func bar(_ places: Int) -> String {
    guard bytesInAll > 0, state == .uploading || state == .downloading else { return "" }
    let full = Int(min(bytesDone, bytesInAll) * Int64(places) / bytesInAll)
    return String(repeating: "▓", count: full) + String(repeating: "░", count: places - full)
  }

  /// For a person; several may stand below one another.
  static func table(_ files: [VaultFileStatus]) -> String {
    guard !files.isEmpty else {
      return "no file is kept in step here; add one with lockstep agent vault add FILE"
    }
    var table = TextTable([
      ("FILE", .left), ("STATE", .left), ("SIZE", .right), ("WHERE", .left),
    ])
    for file in files {
      table.add(
        file.name, file.state.rawValue, file.size.map(ByteCount.text) ?? "–", file.path)
    }
    let reasons = files.compactMap { file in
      file.reason.map { "\(Log.oneLine(file.name)): \(Log.oneLine($0))" }
    }
    return ([table.text] + (reasons.isEmpty ? [] : [""] + reasons)).joined(separator: "\n")
  }
}
