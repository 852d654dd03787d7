import Glibc
import Lockstep
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepRelay
import LockstepStorageSQLite

/// Files in a store's folder with the results of its last backup and its last check, for the relay
/// that serves the store. Each is replaced as a whole, durably, and belongs to the store's owner.
package enum UpkeepFiles {
  static let backup = "last-backup.json"
  static let check = "last-check.json"
  private static let bytesMax = 16 << 10
  private static let detailCharactersMax = 1_000

  /// Returns the results that the folder has. A file that cannot be read or understood counts as
  /// none: the next backup or check replaces it.
  package static func read(from folder: String) -> StoreUpkeep {
    StoreUpkeep(
      backup: json(folder + "/" + backup).flatMap { BackupResult($0) },
      check: json(folder + "/" + check).flatMap { CheckResult($0) })
  }

  private static func json(_ path: String) -> JSONValue? {
    do throws(HomeFault) {
      return try HomeFile.contents(of: path, atMost: bytesMax).flatMap { JSONValue(ifJSON: $0) }
    } catch {
      return nil
    }
  }

  /// Records a backup that was made. `faults`: those of the store itself.
  static func record(
    _ outcome: StoreBackup.Outcome, at path: String, ofStore folder: String
  ) throws(CommandFailure) {
    let counts = outcome.manifest.counts
    let (bytes, isTooMuch) = counts.databaseBytes.addingReportingOverflow(counts.chunkBytes)
    let fault = outcome.faults.first.map { "the store itself is damaged: \($0.text)" }
    try record(
      BackupResult(
        at: outcome.manifest.madeAt, path: path, bytes: isTooMuch ? .max : bytes,
        isGood: fault == nil, detail: shortened(fault ?? ""), goodAt: outcome.manifest.madeAt),
      ofStore: folder)
  }

  /// Records a backup that failed; the time of the last one that succeeded stays.
  static func record(
    failure: CommandFailure, at wall: Int64, ofStore folder: String
  ) throws(CommandFailure) {
    try record(
      BackupResult(
        at: wall, isGood: false, detail: shortened(failure.message ?? "it was interrupted"),
        goodAt: read(from: folder).backup?.goodAt),
      ofStore: folder)
  }

  static func record(_ result: BackupResult, ofStore folder: String) throws(CommandFailure) {
    try replace(backup, by: result.json, in: folder)
  }

  static func record(_ result: CheckResult, ofStore folder: String) throws(CommandFailure) {
    try replace(check, by: result.json, in: folder)
  }

  /// Performs `record`. The command has done its work, so a failure is only told.
  static func attempt(_ record: () throws(CommandFailure) -> Void) {
    do throws(CommandFailure) {
      try record()
    } catch {
      TerminalOutput.writeToStandardError(
        "the result is not shown on the owner's page and in metrics: \(error.message ?? "")\n")
    }
  }

  private static func shortened(_ text: String) -> String {
    String(text.prefix(detailCharactersMax))
  }

  private static func replace(
    _ name: String, by json: JSONValue, in folder: String
  ) throws(CommandFailure) {
    let owner = try StoreOwner.become(ofFolder: folder)
    defer { owner?.end() }
    let path = folder + "/" + name
    try CommandFailure.wrap { () throws(HomeFault) in
      try HomeFile.replace(path, by: json.serialized() + [UInt8(ascii: "\n")])
    }
    try FolderTree.sync(folder)
  }
}
