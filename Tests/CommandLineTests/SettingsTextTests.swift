import Testing

@testable import LockstepCommandLine

/// A file of settings that a person has written, and a program changes.
struct SettingsTextTests {
  private static let file = """
    # Settings of mine.
    # listen to me = now
    #listen = 127.0.0.1:5625
    store = /srv/lockstep    # on the large disk

    [limits]
    listen = 3
    """

  @Test func aSettingTakesThePlaceOfItsCommentAndLeavesTheRest() {
    var text = SettingsText(Self.file)
    text.set("listen", to: "[::]:443")
    text.set("open", to: "true")
    #expect(
      text.text == """
        # Settings of mine.
        # listen to me = now
        listen = [::]:443
        store = /srv/lockstep    # on the large disk

        open = true
        [limits]
        listen = 3

        """)
  }

  @Test func aSettingThatIsTakenBackStaysAsAComment() {
    var text = SettingsText("open = true\n")
    text.set("open", to: nil)
    text.set("store", to: nil)
    #expect(text.text == "#open = true\n")
    text.set("open", to: "true")
    #expect(text.text == "open = true\n")
  }

  @Test(arguments: ["/srv/a b", "/srv/#1", "a\"b", "a\\b", "", "plain", "tab\there"])
  func whatIsWrittenIsReadBack(value: String) {
    var text = SettingsText()
    text.set("store", to: value)
    let option = CommandOption.optional("store", ValueKind<String>("TEXT") { $0 }, "")
    let file = ConfigFile(Array(text.text.utf8), options: [option.entry])
    #expect(file.faults.isEmpty && file.entries["store"]?.text == value)
  }

  /// A carriage return and a line feed are one character of Swift.
  @Test func aFileOfAnotherSystemKeepsItsLines() {
    let lines = ["listen = 127.0.0.1:5625", "#open = false", "quota = 5G", "", "[limits]", ""]
    var text = SettingsText(lines.joined(separator: "\r\n"))
    text.set("listen", to: "[::]:443")
    text.set("open", to: "true")
    text.set("store", to: "/srv")
    let changed = [
      "listen = [::]:443", "open = true", "quota = 5G", "", "store = /srv", "[limits]", "",
    ]
    #expect(text.text == changed.joined(separator: "\r\n"))
    text.set("quota", to: nil)
    #expect(text.text.contains("\r\n#quota = 5G\r\n"))
  }

  @Test func aByteOrderMarkStaysAtTheBeginning() {
    var text = SettingsText("\u{FEFF}listen = 127.0.0.1:5625\nquota = 5G")
    text.set("listen", to: "[::]:443")
    #expect(text.text == "\u{FEFF}listen = [::]:443\nquota = 5G\n")
  }

  @Test func theSameSettingsAgainChangeNothing() {
    var text = SettingsText(Self.file)
    text.set("listen", to: "[::]:443")
    let once = text
    text.set("listen", to: "[::]:443")
    #expect(text == once)
  }
}
