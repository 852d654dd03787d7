import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepTerminal

/// State of a file, as the mirror reports it, for commands and for people.
package struct VaultFileStatus: Hashable {
  package let name: String
  package let path: String
  package let state: VaultTrack.State
  /// In the language of this process.
  package let reason: String?
  package let size: Int64?
  package let bytesDone: Int64
  package let bytesInAll: Int64
  package let isPlain: Bool
  let isCopy: Bool
  /// The state as received, without the translations.
  package let json: JSONValue

  package init?(_ json: JSONValue) {
    guard let name = json["name"]?.string, let path = json["path"]?.string,
      let state = json["state"]?.string.flatMap(VaultTrack.State.init(rawValue:))
    else { return nil }
    self.json = VaultFileStatus.untranslated(json)
    self.name = name
    self.path = path
    self.state = state
    reason = json["reason"]?.string.map { english in
      LocalizedText(english: english) { json["translations"]?[$0]?.string }.current
    }
    size = json["size"]?.int64
    bytesDone = json["bytesDone"]?.int64 ?? 0
    bytesInAll = json["bytesInAll"]?.int64 ?? 0
    isPlain = json["plain"]?.bool ?? false
    isCopy = json["copy"]?.bool ?? false
  }

  /// Returns the state of all files, from an answer to `HomeRequest.mirrorStatus`.
  package static func all(_ mirror: JSONValue) -> [VaultFileStatus] {
    (mirror["files"]?.array ?? []).compactMap(VaultFileStatus.init)
  }

  /// Returns an answer to `HomeRequest.watchMirror` for programs, which is the same in all
  /// languages.
  package static func withoutTranslations(_ mirror: JSONValue) -> JSONValue {
    guard let files = mirror["files"]?.array else { return mirror }
    return mirror.setting("files", to: .array(files.map(untranslated)))
  }

  private static func untranslated(_ file: JSONValue) -> JSONValue {
    file["translations"] == nil ? file : file.setting("translations", to: nil)
  }

  /// True if nothing more happens to the file by itself.
  package var isDone: Bool {
    switch state {
    case .synced, .error: true
    case .unknown, .syncing, .uploading, .downloading: false
    }
  }

  /// True if the file waits for the relay or for another program.
  package var isWaiting: Bool { !isDone && reason != nil }

  /// Text such as `45 %  5.6 MiB of 12.5 MiB`; empty if nothing is being transferred.
  package var progress: String {
    guard bytesInAll > 0, state == .uploading || state == .downloading else { return "" }
    let done = min(bytesDone, bytesInAll)
    return localized(
      "{percent} %  {done} of {size}",
      [
        "percent": String(done * 100 / bytesInAll), "done": ByteCount.text(done),
        "size": ByteCount.text(bytesInAll),
      ])
  }

  /// Returns `▓▓▓▓░░░░░░` with that many characters; empty if nothing is being transferred.
  package func bar(_ places: Int) -> String {
    guard bytesInAll > 0, state == .uploading || state == .downloading else { return "" }
    let full = Int(min(bytesDone, bytesInAll) * Int64(places) / bytesInAll)
    return String(repeating: "▓", count: full) + String(repeating: "░", count: places - full)
  }

  /// Returns a table for a person.
  package static func table(_ files: [VaultFileStatus]) -> String {
    guard !files.isEmpty else {
      return localized("no file is synced here; add one with lockstep vault add FILE")
    }
    var table = TextTable([
      (localized("FILE"), .left), (localized("STATE"), .left), (localized("SIZE"), .right),
      (localized("WHERE"), .left),
    ])
    for file in files {
      table.add(
        file.name, file.state.text, file.size.map(ByteCount.text) ?? "–", file.path)
    }
    let reasons = files.compactMap { file in
      file.reason.map { "\(Log.oneLine(file.name)): \(Log.oneLine($0))" }
    }
    return ([table.text] + (reasons.isEmpty ? [] : [""] + reasons)).joined(separator: "\n")
  }
}

extension VaultTrack.State {
  /// One word for a person.
  package var text: String {
    switch self {
    case .unknown: localized("unknown")
    case .synced: localized("synced")
    case .syncing: localized("syncing")
    case .uploading: localized("uploading")
    case .downloading: localized("downloading")
    case .error: localized("error")
    }
  }
}

/// Reason why the work on a file stops for now.
package enum VaultFault: Error, Hashable {
  /// The file cannot be synced until something changes; a sentence for a person.
  case problem(LocalizedText)
  /// The work continues by itself once the relay or another program permits it; a sentence as well.
  case waiting(LocalizedText)
  /// File or account changed during the step: check the file again.
  case changed
  /// The process ends.
  case stopping
}
