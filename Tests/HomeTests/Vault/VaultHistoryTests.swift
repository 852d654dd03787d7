import Lockstep
import LockstepLanguage
import LockstepModel
import TemporaryFolders
import Testing

@testable import LockstepHome

struct VaultHistoryTests {
  @Test func eventsAreReadBackInTheirOrder() throws {
    let folder = try TemporaryFolder()
    let history = VaultHistory(home: HomeFolder(path: folder.path))
    #expect(try history.last(10) == [])
    var sent = VaultHistory.Event(.sent, "a", at: 1_772_366_400_000)
    (sent.bytes, sent.chunks) = (2_048, 3)
    history.add(sent)
    var received = VaultHistory.Event(.received, "b\u{7}", at: 1_772_366_460_000)
    (received.bytes, received.device) = (5, "phone")
    history.add(received)
    #expect(try history.last(10) == [sent.json, received.json])
    #expect(try history.last(1) == [received.json])
    #expect(
      try history.last(10).map { VaultHistory.line($0) } == [
        "2026-03-01 12:00 UTC  a  sent 2.0 KiB of new chunks",
        "2026-03-01 12:01 UTC  b\\u{07}  received 5 B from phone",
      ])
  }

  @Test func aDeviceIsCalledAsThePersonCallsIt() {
    let phone = DeviceID(rawValue: 7)
    var event = VaultHistory.Event(.received, "a", at: 0)
    (event.bytes, event.device) = (5, phone.text)
    #expect(
      VaultHistory.line(event.json, deviceNames: [phone: "phone"]).hasSuffix("from phone"))
    #expect(VaultHistory.line(event.json).hasSuffix("from \(phone.text)"))
  }

  @Test func itIsBounded() throws {
    let folder = try TemporaryFolder()
    let history = VaultHistory(home: HomeFolder(path: folder.path), bytesMax: 1_000)
    for number in 0..<200 { history.add(.init(.removed, "file \(number)", at: 0)) }
    for name in ["vault-history.jsonl", "vault-history.1.jsonl"] {
      #expect(try folder.bytes(name).count <= 1_100)
    }
    let events = try history.last(1_000)
    #expect(events.count > 15 && events.last?["file"]?.string == "file 199")
  }

  @Test func aLineThatACrashCutIsPassedOver() throws {
    let folder = try TemporaryFolder()
    let event = VaultHistory.Event(.removed, "a", at: 0)
    try folder.write("\(event.json.text)\n{\"at\":1,", to: "vault-history.jsonl")
    let history = VaultHistory(home: HomeFolder(path: folder.path))
    #expect(try history.last(5) == [event.json])
  }

  @Test(arguments: [
    (VaultHistory.Event.What.conflict, "both versions kept; the other is x"),
    (.removed, "removed; it was deleted on another device"),
    (.deleted, "deleted here and on all devices"),
    (.failed, "failed: x"), (.sent, "sent; the relay had all its chunks"),
  ])
  func eachEventIsASentence(_ what: VaultHistory.Event.What, _ words: String) {
    var event = VaultHistory.Event(what, "a", at: 0)
    event.note = "x"
    #expect(VaultHistory.line(event.json) == "1970-01-01 00:00 UTC  a  \(words)")
  }

  @Test func anEventIsASentenceInEachLanguage() {
    var event = VaultHistory.Event(.received, "a", at: 0)
    (event.bytes, event.device) = (5, "phone")
    #expect(Language.chinese { VaultHistory.line(event.json) }.hasSuffix("  a  已从 phone 收到 5 B"))
    var failure = VaultHistory.Event(.failed, "a", at: 0)
    // It was kept in English, with what it names.
    failure.note = "/a is a folder; move it away, or forget the file"
    #expect(
      Language.japanese { VaultHistory.line(failure.json) }
        .hasSuffix("  a  失敗しました：/a はフォルダです。移動するか、ファイルの同期を停止してください（lockstep vault forget）"))
  }
}
