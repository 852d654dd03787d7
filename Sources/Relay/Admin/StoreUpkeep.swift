import LockstepJSON

/// Results of the last backup and the last check of a relay's store, as the commands that made them
/// wrote them down.
@usableFromInline
package struct StoreUpkeep: Sendable, Hashable {
  /// nil if there was none.
  @usableFromInline package var backup: BackupResult?
  @usableFromInline package var check: CheckResult?

  @usableFromInline
  package init(backup: BackupResult? = nil, check: CheckResult? = nil) {
    self.backup = backup
    self.check = check
  }
}

/// Result of a backup: `{"at","path","bytes","ok","detail","goodAt"}`.
@usableFromInline
package struct BackupResult: Sendable, Hashable {
  /// Time of the last attempt, in milliseconds since the Unix epoch.
  @usableFromInline package var at: Int64
  /// The backup's folder; empty if it failed.
  @usableFromInline package var path: String
  /// Bytes of the backup: its database, and the chunks that it names.
  @usableFromInline package var bytes: Int64
  @usableFromInline package var isGood: Bool
  /// The reason of a failure, for a person; empty if there was none.
  @usableFromInline package var detail: String
  /// Time of the last backup that succeeded; nil if none has.
  @usableFromInline package var goodAt: Int64?

  @usableFromInline
  package init(
    at: Int64, path: String = "", bytes: Int64 = 0, isGood: Bool, detail: String = "",
    goodAt: Int64? = nil
  ) {
    self.at = at
    self.path = path
    self.bytes = bytes
    self.isGood = isGood
    self.detail = detail
    self.goodAt = goodAt
  }

  package var json: JSONValue {
    [
      "at": JSONValue(integerLiteral: at), "path": .string(path),
      "bytes": JSONValue(integerLiteral: bytes), "ok": .bool(isGood), "detail": .string(detail),
      "goodAt": goodAt.map { JSONValue(integerLiteral: $0) } ?? .null,
    ]
  }

  /// Returns nil if a member is missing.
  package init?(_ json: JSONValue) {
    guard let at = json["at"]?.int64, let path = json["path"]?.string,
      let bytes = json["bytes"]?.int64, let isGood = json["ok"]?.bool,
      let detail = json["detail"]?.string, at >= 0, bytes >= 0
    else { return nil }
    self.init(
      at: at, path: path, bytes: bytes, isGood: isGood, detail: detail,
      goodAt: json["goodAt"]?.int64.flatMap { $0 >= 0 ? $0 : nil })
  }
}

/// Result of a check: `{"at","ok","findings","target"}`.
@usableFromInline
package struct CheckResult: Sendable, Hashable {
  /// Subject of a check.
  @usableFromInline
  package enum Target: String, Sendable, Hashable {
    case store
    case backup
  }

  /// Milliseconds since the Unix epoch.
  @usableFromInline package var at: Int64
  /// Number of faults; 0: all is well.
  @usableFromInline package var findings: Int
  @usableFromInline package var target: Target

  @usableFromInline
  package init(at: Int64, findings: Int, target: Target) {
    self.at = at
    self.findings = findings
    self.target = target
  }

  @usableFromInline package var isGood: Bool { findings == 0 }

  package var json: JSONValue {
    [
      "at": JSONValue(integerLiteral: at), "ok": .bool(isGood),
      "findings": JSONValue(integerLiteral: Int64(findings)), "target": .string(target.rawValue),
    ]
  }

  /// Returns nil if a member is missing.
  package init?(_ json: JSONValue) {
    guard let at = json["at"]?.int64, at >= 0,
      let findings = json["findings"]?.int64.flatMap(Int.init(exactly:)), findings >= 0,
      let target = json["target"]?.string.flatMap(Target.init(rawValue:))
    else { return nil }
    self.init(at: at, findings: findings, target: target)
  }
}
