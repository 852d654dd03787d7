import LockstepLanguage
import LockstepModel
import Testing

@testable import LockstepHome

struct VaultFileStatusTests {
  private func status(
    _ state: VaultTrack.State, done: Int = 0, all: Int = 0, size: Int? = nil,
    reason: String? = nil
  ) throws -> VaultFileStatus {
    var track = VaultTrack()
    (track.state, track.bytesDone, track.bytesInAll) = (state, done, all)
    (track.size, track.reason) = (size, reason.map { LocalizedText($0) })
    return try #require(
      VaultFileStatus(track.json(VaultEntry(name: "vault.db", path: "/a/vault.db"))))
  }

  @Test func itSurvivesItsWay() throws {
    let status = try status(.error, done: 1, all: 2, size: 3, reason: "why")
    #expect(status.name == "vault.db" && status.path == "/a/vault.db" && status.state == .error)
    #expect(status.reason == "why" && status.size == 3)
    #expect(status.bytesDone == 1 && status.bytesInAll == 2)
    #expect(VaultFileStatus.all(["files": [status.json, ["name": "x"], 5]]) == [status])
  }

  @Test func aReasonIsInTheLanguageOfWhoReadsIt() throws {
    var track = VaultTrack()
    track.state = .error
    track.reason = LocalizedText(localized("the home is busy with other chunks"))
    let json = track.json(VaultEntry(name: "文件.db", path: "/a"))
    #expect(json["reason"] == "the home is busy with other chunks")
    #expect(VaultFileStatus(json)?.reason == "the home is busy with other chunks")
    let status = try Language.japanese { try #require(VaultFileStatus(json)) }
    #expect(status.reason == "データフォルダがほかのチャンクを処理しています")
    // Programs get the same in all languages.
    #expect(status.json["reason"] == json["reason"] && status.json["translations"] == nil)
    #expect(VaultFileStatus.withoutTranslations(["files": [json]]) == ["files": [status.json]])
    let table = Language.japanese { VaultFileStatus.table([status]) }
    #expect(table.hasSuffix("\n\n文件.db: データフォルダがほかのチャンクを処理しています"))
    #expect(table.contains("エラー") && table.hasPrefix("ファイル"))
  }

  @Test func progressIsShownWhileBytesAreOnTheirWay() throws {
    let half = try status(.uploading, done: 512, all: 1_024)
    #expect(half.progress == "50 %  512 B of 1.0 KiB")
    #expect(half.bar(4) == "▓▓░░")
    #expect(try status(.synced, done: 512, all: 1_024).progress == "")
    #expect(try status(.downloading, done: 2, all: 1).bar(4) == "▓▓▓▓")
    #expect(try status(.downloading).progress == "")
  }

  @Test func whatIsDoneAndWhatWaitsIsKnown() throws {
    #expect(try status(.synced).isDone && status(.error, reason: "x").isDone)
    for state in [VaultTrack.State.unknown, .syncing, .uploading, .downloading] {
      #expect(try !status(state).isDone && !status(state).isWaiting)
      #expect(try status(state, reason: "x").isWaiting)
    }
    #expect(try !status(.error, reason: "x").isWaiting)
  }

  @Test func aTableSaysWhy() throws {
    let table = VaultFileStatus.table([try status(.error, size: 10, reason: "the disk is full")])
    #expect(
      table == """
        FILE      STATE  SIZE  WHERE
        vault.db  error  10 B  /a/vault.db

        vault.db: the disk is full
        """)
    #expect(VaultFileStatus.table([]).contains("vault add FILE"))
  }
}
