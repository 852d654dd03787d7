import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import Testing

@testable import LockstepApps

struct VaultAppTests {
  @Test func theRelayIsToldOfEachChunkOnce() throws {
    let (a, b) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))
    let fields: JSONValue = ["chunks": [.string(a), .string(b), .string(a), 5, "short"]]
    let app = VaultApp()
    #expect(app.chunks(in: fields, of: VaultApp.fileType).map(\.text) == [a, b])
    #expect(app.chunks(in: fields, of: Name(trusted: "Other")).isEmpty)
    #expect(app.chunks(in: ["chunks": "none"], of: VaultApp.fileType).isEmpty)
  }

  @Test func filesAreShownWithWhoWroteThemAndWhichAreCopies() throws {
    var table = AppTable(VaultApp())
    table.names = [DeviceID(rawValue: 0xB): "laptop"]
    try take(&table, "vault.db", 1)
    try take(&table, copy, 2)
    let view = try table.view(["show": "files"])
    let files = try #require(view.json["files"]?.array)
    #expect(files.map { $0["file"]?.string } == ["vault.db", copy])
    #expect(files[0]["size"]?.int64 == 2_048 && files[0]["deviceName"]?.string == "laptop")
    #expect(files[0]["copyOf"] == nil && files[0]["modifiedAt"]?.int64 == 1_772_366_340_000)
    #expect(files[1]["copyOf"]?.string == "vault.db" && files[1]["isNeedless"]?.bool == false)
    #expect(view.lines[0].hasSuffix("2.0 KiB   1 min  laptop"), "\(view.lines)")
    #expect(view.lines[1].hasSuffix("laptop  [other version of vault.db]"), "\(view.lines)")
    #expect(try table.view(["show": "conflicts"]).lines == [view.lines[1]])
  }

  @Test func filesAreShownInTheLanguageOfThePerson() throws {
    var table = AppTable(VaultApp())
    table.names = [DeviceID(rawValue: 0xB): "laptop"]
    try take(&table, "vault.db", 1)
    try take(&table, copy, 2)
    let english = try table.view(["show": "files"])
    for (language, mark) in [
      (Language.chinese, "[“vault.db”的另一个版本]"), (.japanese, "[「vault.db」の別のバージョン]"),
    ] {
      let view = try language { try table.view(["show": "files"]) }
      #expect(view.json == english.json)
      #expect(view.lines[1].hasSuffix("laptop  " + mark), "\(view.lines)")
    }
    #expect(
      try Language.japanese { try table.order(["do": "clean"]).lines } == [
        "0件の競合コピーを削除しました", "1件は元のファイルと異なるため残しました",
      ])
  }

  @Test func nothingIsSaidToBeNothing() throws {
    let table = AppTable(VaultApp())
    #expect(try table.view(["show": "files"]).lines == ["there is no file in the vault yet"])
    #expect(try table.view(["show": "conflicts"]).lines == ["there are no conflict copies"])
    #expect(throws: EditRefusal.self) { try table.view(["show": "all"]) }
    #expect(table.refusal(["do": "burn"]) == "the vault does not know that order")
  }

  /// Also removes copies of copies. A copy stays if it differs from its file, or the file no longer
  /// exists.
  @Test func copiesThatEqualTheirFileGoTogether() throws {
    var table = AppTable(VaultApp())
    let second = VaultFileResolver.conflictName(of: copy, modifiedAt: 7)
    try take(&table, "vault.db", 1)
    try take(&table, copy, 1)
    try take(&table, second, 1)
    try take(&table, VaultFileResolver.conflictName(of: "vault.db", modifiedAt: 8), 2)
    try take(&table, VaultFileResolver.conflictName(of: "gone.db", modifiedAt: 9), 1)
    let view = try table.order(["do": "clean"])
    #expect(view.lines == ["2 conflict copies removed", "2 differ and stay"])
    #expect(table.fields(copy) == nil && table.fields(second) == nil)
    #expect(table.fields("vault.db") != nil)
    #expect(try table.order(["do": "clean"]).lines[0] == "0 conflict copies removed")
  }

  @Test func aCopyThatHasJustChangedIsNotRemoved() throws {
    var table = AppTable(VaultApp())
    try take(&table, "vault.db", 1)
    try take(&table, copy, 1)
    let outcome = try table.app.outcome(of: ["do": "clean"], on: table.state)
    guard case .edit(let edit)? = outcome.steps.first else {
      Issue.record("nothing is removed")
      return
    }
    var changed = try #require(table.state.records.first { $0.name.text == copy })
    let context = { EditContext(current: $0, stamp: 1, device: DeviceID(rawValue: 1)) }
    #expect(try edit.make(context(changed)) == nil)
    changed.fields = Array("{}".utf8)
    #expect(throws: EditRefusal.self) { try edit.make(context(changed)) }
  }

  @Test func sealedFilesAreShownWhereTheKeyIs() throws {
    let key = try #require(VaultKey(bytes: Array(1...16)))
    var table = AppTable(VaultApp(seal: { VaultSeal(key) }))
    try take(&table, "vault.db", 1, VaultSeal(key))
    try take(&table, copy, 1, VaultSeal(key))
    try take(&table, "plain.db", 1)
    let files = try #require(try table.view(["show": "files"]).json["files"]?.array)
    #expect(files.map { $0["file"]?.string } == ["plain.db", "vault.db", copy])
    #expect(files.map { $0["isSealed"]?.bool } == [false, true, true])
    let lines = try table.view(["show": "files"]).lines
    #expect(lines.map { $0.hasSuffix("[not sealed]") } == [true, false, false])
    #expect(try table.order(["do": "clean"]).lines == ["1 conflict copy removed"])
  }

  @Test func whatThisDeviceCannotReadComesWithTheNextStep() throws {
    let key = try #require(VaultKey(bytes: Array(1...16)))
    let other = try #require(VaultKey(bytes: Array(2...17)))
    var table = AppTable(VaultApp())
    try take(&table, "vault.db", 1, VaultSeal(key))
    try take(&table, "other.db", 1, VaultSeal(key))
    table.take("odd", VaultApp.fileType, ["file": "a/b"], at: 1)
    let view = try table.view(["show": "files"])
    #expect(view.json["files"]?.array?.isEmpty == true)
    let troubles = view.json["others"]?.array?.compactMap {
      $0["trouble"]?.string.flatMap(VaultContents.VaultProblem.init)
    }
    #expect(troubles?.count { $0 == .noKey } == 2 && troubles?.contains(.unreadable) == true)
    #expect(view.lines.count == 2 && view.lines[0].contains("lockstep vault unlock"))
    var wrong = AppTable(VaultApp(seal: { VaultSeal(other) }))
    try take(&wrong, "vault.db", 1, VaultSeal(key))
    wrong.take(
      "forged", VaultApp.fileType, ["sealed": "AAAA", "key": .string(other.id), "chunks": []],
      at: 1)
    let lines = try wrong.view(["show": "files"]).lines
    #expect(lines.count == 2 && lines[0].contains("another key") && lines[1].contains("add"))
  }

  @Test func keysOnTheirWayAreToldByWhenTheyExpire() throws {
    var table = AppTable(VaultApp())
    table.take("key", VaultApp.keyType, ["key": "0011223344556677"], at: 1)
    table.take("code/odd", VaultApp.keyType, [:], at: 1)
    let secret = JoinSecret(word: 1)
    let key = try #require(VaultKey(bytes: Array(1...16)))
    let wrapped = try #require(
      WrappedVaultKey(
        key, secret: secret, salt: Array(0..<16), record: Name(trusted: "code/a"), expiresAt: 9))
    table.take("code/a", VaultApp.keyType, wrapped.fields, at: 1)
    let codes = try table.view(["show": "codes"]).json["codes"]
    #expect(
      codes == [
        ["name": "code/a", "expiresAt": 9], ["name": "code/odd", "expiresAt": 0],
      ])
  }

  /// Both versions are kept, as the rule says, as soon as this device can read them.
  @Test(arguments: [(Int64(1), true), (9, false)])
  func whatWaitedForTheKeyIsSettledWithIt(serverAt: Int64, keepsLocal: Bool) throws {
    let key = try #require(VaultKey(bytes: Array(1...16)))
    let seal = VaultSeal(key)
    let name = try #require(seal.recordName(of: "vault.db")).text
    var table = AppTable(VaultApp(seal: { VaultSeal(key) }))
    table.take(name, VaultApp.fileType, try fields("vault.db", 1, seal), at: serverAt)
    table.asking = Array(table.state.records)
    table.take(name, VaultApp.fileType, try fields("vault.db", 2, seal), at: 5)
    let asking = table.asking
    #expect(try table.order(["do": "settle"]).lines == ["1 conflict settled"])
    #expect(table.decisions.map(\.keepLocal) == [keepsLocal])
    let older = VaultFileResolver.conflictName(of: "vault.db", modifiedAt: min(serverAt, 5))
    let copy = try #require(seal.recordName(of: older)).text
    #expect(table.fields(copy) == (try fields(older, keepsLocal ? 1 : 2, seal)))
    // Without the key they stay unresolved.
    var locked = AppTable(VaultApp())
    locked.take(name, VaultApp.fileType, try fields("vault.db", 2, seal), at: 5)
    locked.asking = asking
    #expect(try locked.order(["do": "settle"]).json == ["settled": 0, "left": 1])
    #expect(locked.decisions.isEmpty)
  }

  @Test func whatNobodyWithTheKeyWroteGivesWay() throws {
    let key = try #require(VaultKey(bytes: Array(1...16)))
    let seal = VaultSeal(key)
    let name = try #require(seal.recordName(of: "vault.db")).text
    let real = try fields("vault.db", 2, seal)
    for (forged, settled) in [
      (real.setting("sealed", to: "AAAA"), Int64(1)), (real.setting("key", to: "00"), 0),
    ] {
      var table = AppTable(VaultApp(seal: { VaultSeal(key) }))
      table.take(name, VaultApp.fileType, forged, at: 9)
      table.asking = Array(table.state.records)
      table.take(name, VaultApp.fileType, real, at: 5)
      #expect(try table.order(["do": "settle"]).json["settled"]?.int64 == settled)
      #expect(table.decisions.map(\.keepLocal) == (settled == 1 ? [true] : []))
      #expect(table.fields(name) == real)
    }
  }

  private let copy = VaultFileResolver.conflictName(of: "vault.db", modifiedAt: 5)

  /// Adds a file received from the laptop a minute ago.
  private func take(
    _ table: inout AppTable, _ file: String, _ number: UInt8, _ seal: VaultSeal = .plain
  ) throws {
    table.take(
      try #require(seal.recordName(of: file)).text, VaultApp.fileType,
      try fields(file, number, seal), at: 1_772_366_340_000)
  }

  private func fields(_ file: String, _ number: UInt8, _ seal: VaultSeal) throws -> JSONValue {
    let hash = try #require(ChunkHash(bytes: Array(repeating: number, count: 32)))
    let manifest = VaultManifest(file: file, size: 2_048, sha256: hash, chunks: [hash])
    return seal.fields(of: manifest, chunks: [hash])
  }
}
