import LockstepApps
import LockstepModel

/// State of a file, as the mirror reports it, for commands and for people.
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
  /// The state as received.
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

  /// Returns the state of all files, from an answer to `HomeRequest.mirrorStatus`.
  static func all(_ mirror: JSONValue) -> [VaultFileStatus] {
    (mirror["files"]?.array ?? []).compactMap(VaultFileStatus.init)
  }

  /// True if nothing more happens to the file by itself.
  var isDone: Bool {
    switch state {
    case .synced, .error: true
    case .unknown, .syncing, .uploading, .downloading: false
    }
  }

  /// True if the file waits for the relay or for another program.
  var isWaiting: Bool { !isDone && reason != nil }

  /// Text such as `45 %  5.6 MiB of 12.5 MiB`; empty if nothing is being transferred.
  var progress: String {
    guard bytesInAll > 0, state == .uploading || state == .downloading else { return "" }
    let done = min(bytesDone, bytesInAll)
    return "\(done * 100 / bytesInAll) %  \(ByteCount.text(done)) of \(ByteCount.text(bytesInAll))"
  }

  /// Returns `▓▓▓▓░░░░░░` with that many characters; empty if nothing is being transferred.
  func bar(_ places: Int) -> String {
    guard bytesInAll > 0, state == .uploading || state == .downloading else { return "" }
    let full = Int(min(bytesDone, bytesInAll) * Int64(places) / bytesInAll)
    return String(repeating: "▓", count: full) + String(repeating: "░", count: places - full)
  }

  /// Returns a table for a person.
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
