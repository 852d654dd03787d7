import LockstepApps
import LockstepHome
import LockstepJSON
import LockstepLanguage
import Testing

@testable import LockstepCommand

struct VaultViewTests {
  private func line(_ state: VaultTrack.State, done: Int, reason: String? = nil) -> JSONValue {
    var track = VaultTrack()
    (track.state, track.bytesDone, track.bytesInAll) = (state, done, 4 << 20)
    (track.size, track.reason) = (4 << 20, reason.map { LocalizedText($0) })
    return ["mirror": ["files": [track.json(VaultEntry(name: "vault.db", path: "/a"))]]]
  }

  private func rows(_ view: VaultView, height: Int = 24) -> [String] {
    view.rows(columns: 100, height: height, at: 0).map(\.plainText)
  }

  @Test func aFileOnItsWayHasABarAndARate() {
    var view = VaultView()
    view.handleLine(line(.uploading, done: 0), at: 0)
    view.handleLine(line(.uploading, done: 1 << 20), at: 500)
    view.handleLine(line(.uploading, done: 2 << 20), at: 1_000)
    let bar = "▓▓▓▓▓▓▓▓░░░░░░░░"
    #expect(rows(view)[2] == " vault.db  uploading    \(bar) 50 %  2.0 MiB of 4.0 MiB  2.0 MiB/s")
    view.handleLine(line(.synced, done: 0), at: 2_000)
    #expect(rows(view)[2] == " vault.db  synced       4.0 MiB")
  }

  @Test(arguments: [
    (Language.chinese, "正在上传"), (.japanese, "送信中"),
  ])
  func itsColumnsAreAsWideInEachLanguage(_ language: Language, _ state: String) {
    var view = VaultView()
    view.handleLine(line(.uploading, done: 2 << 20), at: 0)
    let row = language { view.rows(columns: 80, height: 24, at: 0)[2] }
    let pad = String(repeating: " ", count: 13 - 2 * state.count)
    let bar = "▓▓▓▓▓▓░░░░░░░"
    #expect(row.plainText == " vault.db  \(state)\(pad)\(bar) 50%  2.0 MiB / 4.0 MiB")
    #expect(row.width <= 80)
    view.handleLine(["mirror": ["files": []]], at: 1)
    let rows = language { view.rows(columns: 80, height: 24, at: 0) }
    #expect(rows[2].plainText.contains("lockstep vault add FILE") && rows[2].width <= 80)
  }

  @Test func anErrorSaysWhyInOneRow() {
    var view = VaultView()
    view.handleLine(line(.error, done: 0, reason: "the disk is full\nreally"), at: 0)
    #expect(rows(view)[3] == "   the disk is full really")
  }

  @Test func anEmptyVaultSaysHowToBegin() {
    var view = VaultView()
    #expect(rows(view)[2] == " …")
    view.handleLine(["mirror": ["files": []]], at: 0)
    #expect(rows(view)[2].contains("lockstep vault add"))
    #expect(rows(view).count == 24 && rows(view).last == " ? help  q quit")
  }

  @Test(arguments: 1...6)
  func itIsAsHighAsTheScreen(_ height: Int) {
    var view = VaultView()
    view.handleLine(line(.error, done: 0, reason: "why"), at: 0)
    #expect(rows(view, height: height).count <= max(height, 1))
    #expect(rows(view, height: height).last == " ? help  q quit")
  }
}
