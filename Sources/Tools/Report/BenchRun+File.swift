import LockstepModel

extension BenchRun {
  /// Maximum file size in bytes, far above any report or output of a bench.
  public static let fileBytesMost = 4 << 20

  /// Reads the file of an earlier run: a report's page, or the output of `--json`.
  public init(file bytes: [UInt8]) throws(RunFault) {
    let first = bytes.first { !" \t\r\n".utf8.contains($0) }
    guard first == UInt8(ascii: "<") else {
      let json = try Self.parsed(bytes)
      try self.init(json: json["run"] ?? json)
      return
    }
    guard let start = bytes.firstRange(of: Array(ReportPage.runStart.utf8)) else {
      let isPicture = bytes.firstRange(of: Array("<html".utf8)) == nil
      let isDrawn = bytes.firstRange(of: Array("<svg".utf8)) != nil
      throw isPicture && isDrawn ? RunFault.picture : RunFault.noRun
    }
    let rest = bytes[start.upperBound...]
    guard let end = rest.firstRange(of: Array(ReportPage.runEnd.utf8)) else {
      throw RunFault.bad(member: "script")
    }
    try self.init(json: try Self.parsed(Array(rest[..<end.lowerBound])))
  }

  private static func parsed(_ bytes: [UInt8]) throws(RunFault) -> JSONValue {
    do throws(JSONFault) {
      return try JSONValue(parsing: bytes)
    } catch {
      throw RunFault.unreadable(error)
    }
  }
}
