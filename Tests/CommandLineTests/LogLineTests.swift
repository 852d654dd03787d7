import LockstepJSON
import Testing

@testable import LockstepCommandLine

struct LogLineTests {
  private func line(
    _ message: String, _ fields: [LogLine.Field] = [], level: Log.Level = .info
  ) -> LogLine {
    LogLine(
      source: "lockstep relay", level: level, wall: 1_772_366_400_123, message: message,
      fields: fields)
  }

  private static let fields = [
    LogLine.Field("account", "00ab"), LogLine.Field("count", 3),
    LogLine.Field("name", "a \"b\"\nlevel=error"),
  ]

  @Test func plainLinesAreForPeople() {
    #expect(line("it began").text(.plain) == "lockstep relay: it began")
    #expect(
      line("it began", Self.fields, level: .warning).text(.plain)
        == #"lockstep relay: warning: it began (account 00ab, count 3, name a "b"\nlevel=error)"#)
  }

  @Test func logfmtQuotesWhatIsMoreThanAWord() {
    #expect(
      line("it began", Self.fields).text(.logfmt)
        == #"time=2026-03-01T12:00:00.123Z level=info source="lockstep relay" msg="it began" "#
        + #"account=00ab count=3 name="a \"b\"\nlevel=error""#)
    #expect(line("").text(.logfmt).hasSuffix(#"msg="""#))
    #expect(line(#"a\b"#).text(.logfmt).hasSuffix(#"msg="a\\b""#))
    #expect(line("a=b").text(.logfmt).hasSuffix(#"msg="a=b""#))
    #expect(line("电脑").text(.logfmt).hasSuffix(#"msg="电脑""#))
  }

  @Test func jsonLinesAreObjects() throws {
    let fields = Self.fields + [LogLine.Field("loops", .array([["loop": 0]]))]
    let text = line("it began", fields, level: .error).text(.json)
    let json = try JSONValue(parsing: text)
    #expect(json["time"]?.string == "2026-03-01T12:00:00.123Z")
    #expect(json["level"]?.string == "error")
    #expect(json["source"]?.string == "lockstep relay")
    #expect(json["msg"]?.string == "it began")
    #expect(json["account"]?.string == "00ab")
    #expect(json["count"]?.int64 == 3)
    #expect(json["name"]?.string == "a \"b\"\nlevel=error")
    #expect(json["loops"] == .array([["loop": 0]]))
  }

  @Test(arguments: LogLine.Format.allCases)
  func nothingForgesALineOrDrivesATerminal(_ format: LogLine.Format) throws {
    let nasty = "a\nb\r\u{1B}[2J\u{7F}\u{85}\u{9B}31m\u{2028}\u{2029}\u{0}"
    let text = line(nasty, [LogLine.Field("name", nasty)]).text(format)
    let bad = text.unicodeScalars.filter { scalar in
      scalar.properties.generalCategory == .control || scalar == "\u{2028}" || scalar == "\u{2029}"
    }
    #expect(bad.isEmpty, "\(text)")
    if format == .json { #expect(try JSONValue(parsing: text)["msg"]?.string == nasty) }
  }
}
