import Glibc
import Lockstep
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal

/// History of a home's files, one line of JSON per event, in `HOME/vault-history.jsonl` and, for
/// older events, `HOME/vault-history.1.jsonl`. Its size is limited, so that it needs no
/// maintenance.
package struct VaultHistory {
  package struct Event: Hashable {
    package enum What: String {
      case sent
      case received
      case conflict
      case removed
      case deleted
      case failed
    }

    package var what: What
    package var file: String
    /// Time by this machine's clock, in milliseconds since the Unix epoch.
    package var at: Int64
    package var bytes: Int?
    package var chunks: Int?
    /// Device that wrote a received version.
    package var device: String?
    package var note: String?

    package init(_ what: What, _ file: String, at: Int64) {
      self.what = what
      self.file = file
      self.at = at
    }

    package var json: JSONValue {
      let json: JSONValue = [
        "at": .number(JSONNumber(at)), "file": .string(file), "what": .string(what.rawValue),
      ]
      func number(_ value: Int?) -> JSONValue? { value.map { .number(JSONNumber(Int64($0))) } }
      return json.setting("bytes", to: number(bytes)).setting("pieces", to: number(chunks))
        .setting("device", to: device.map { .string($0) })
        .setting("note", to: note.map { .string($0) })
    }
  }

  private let path: String
  private let older: String
  private let bytesMax: Int64

  /// `bytesMax`: limit of each of the two files.
  package init(home: HomeFolder, bytesMax: Int64 = Int64(Limits.vaultHistoryBytes)) {
    path = home.vaultHistory
    older = home.olderVaultHistory
    self.bytesMax = bytesMax
  }

  /// Appends an event. Ignores errors, because they are no reason to stop the sync of a file.
  package func add(_ event: Event) {
    if case .file(let signature, _) = FileInfo(path), signature.bytes >= bytesMax {
      _ = rename(path, older)
    }
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    let line = event.json.serialized() + [UInt8(ascii: "\n")]
    _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    close(descriptor)
  }

  /// Returns the last `count` events, oldest first. Skips lines that a crash truncated.
  package func last(_ count: Int) throws(CommandFailure) -> [JSONValue] {
    var events: [JSONValue] = []
    for path in [older, path] {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        if errno == ENOENT { continue }
        throw PlainFile.failure(path, "be read", errno)
      }
      let file = PlainFile(path: path, descriptor: descriptor)
      let bytes = try file.contents(atMost: 2 * Int(bytesMax) + (1 << 20), path)
      for line in bytes.split(separator: UInt8(ascii: "\n")) {
        do throws(JSONFault) {
          events.append(try JSONValue(parsing: Array(line)))
        } catch {
          continue
        }
      }
    }
    return events.suffix(count)
  }

  /// Returns an event as a line for a person: time, file and event. A device without a name is
  /// shown by its id.
  package static func line(_ event: JSONValue, deviceNames: [DeviceID: String] = [:]) -> String {
    let id = event["device"]?.string ?? ""
    let device = DeviceID(text: id).flatMap { deviceNames[$0] } ?? id
    let what =
      event["what"]?.string.flatMap(Event.What.init(rawValue:)).map { text(of: $0, event, device) }
      ?? event["what"]?.string ?? ""
    let at = CalendarTime.text(event["at"]?.int64 ?? 0)
    return "\(at)  \(Log.oneLine(event["file"]?.string ?? ""))  \(Log.oneLine(what))"
  }

  private static func text(of what: Event.What, _ event: JSONValue, _ device: String) -> String {
    let note = event["note"]?.string ?? ""
    let size = event["bytes"]?.int64.map(ByteCount.text) ?? ""
    switch what {
    case .sent:
      if event["pieces"]?.int64 ?? 0 == 0 {
        return localized("sent; the relay had all its chunks")
      }
      return localized("sent {size} of new chunks", ["size": size])
    case .received:
      return localized("received {size} from {device}", ["size": size, "device": device])
    case .conflict:
      return localized("both versions kept; the other is {file}", ["file": note])
    case .removed: return localized("removed; it was deleted on another device")
    case .deleted: return localized("deleted here and on all devices")
    case .failed:
      // The note is kept in English.
      return localized("failed: {reason}", ["reason": translated(note)])
    }
  }
}
