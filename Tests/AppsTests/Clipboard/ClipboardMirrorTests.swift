import LockstepApps
import Testing

/// A person copies on a desktop and on other devices.
struct ClipboardMirrorTests {
  private typealias Item = ClipboardMirror.Item

  /// A mirror whose methods can be called in an expectation.
  private final class Mirror {
    private var mirror = ClipboardMirror(device: "desk")

    var isOff: Bool {
      get { mirror.isOff }
      set { mirror.isOff = newValue }
    }

    func handleDesktop(
      _ contents: ClipboardMirror.Contents, at now: Int64
    ) -> ClipboardMirror.Step {
      mirror.handleDesktop(contents, at: now)
    }

    func handleItems(_ items: [Item]) -> String? { mirror.handleItems(items) }
    func handleText(_ text: String) -> Bool { mirror.handleText(text) }
    func handleFailedSend() { mirror.handleFailedSend() }
    func handleFailedWrite() { mirror.handleFailedWrite() }
    func handleLostDesktop() { mirror.handleLostDesktop() }
  }

  /// A mirror that has seen what stood on both sides at its start.
  private func running(
    desktop: ClipboardMirror.Contents = .nothing, items: [Item] = []
  ) -> Mirror {
    let mirror = Mirror()
    #expect(mirror.handleDesktop(desktop, at: 0) == .nothing)
    #expect(mirror.handleItems(items) == nil)
    return mirror
  }

  @Test func whatStandsOnBothSidesAtTheStartStays() {
    let mirror = running(desktop: .text("old"), items: [Item(name: "a", device: "phone")])
    #expect(mirror.handleDesktop(.text("old"), at: 1) == .nothing)
    #expect(mirror.handleItems([Item(name: "a", device: "phone")]) == nil)
    #expect(mirror.handleDesktop(.text("new"), at: 2) == .send("new"))
    #expect(mirror.handleDesktop(.text("new"), at: 3) == .nothing)
  }

  @Test func whatArrivesFromAnotherDeviceIsWrittenOnceAndNotSentBack() {
    let mirror = running(items: [Item(name: "a", device: "phone")])
    let items = [Item(name: "b", device: "phone"), Item(name: "a", device: "phone")]
    #expect(mirror.handleItems(items) == "b")
    #expect(mirror.handleText("hello"))
    #expect(mirror.handleItems(items) == nil)
    #expect(mirror.handleDesktop(.text("hello"), at: 1) == .nothing)
    // The program that holds it for others has changed its end.
    #expect(mirror.handleDesktop(.text("hello\r\n"), at: 2) == .nothing)
    #expect(mirror.handleDesktop(.text("hello, you"), at: 3) == .send("hello, you"))
  }

  @Test func anOwnItemIsNotWrittenNorOneThatMovesUpByARemoval() {
    let old = [Item(name: "b", device: "phone"), Item(name: "a", device: "tablet")]
    let mirror = running(items: old)
    #expect(mirror.handleItems([Item(name: "c", device: "desk")] + old) == nil)
    #expect(mirror.handleItems(old) == nil)
    #expect(mirror.handleItems([old[1]]) == nil)
    // An item that is pinned, or edited, becomes the newest, but it is not new.
    #expect(mirror.handleItems([Item(name: "a", device: "phone")]) == nil)
    #expect(mirror.handleItems([]) == nil)
  }

  @Test func aPinnedItemComesFirstInTheListButIsNotTheNewest() {
    let pinned = Item(name: "p", device: "phone", copiedAt: 1)
    let old = Item(name: "a", device: "phone", copiedAt: 5)
    let mirror = running(items: [pinned, old])
    let new = Item(name: "b", device: "phone", copiedAt: 9)
    #expect(mirror.handleItems([pinned, new, old]) == "b")
    // Of two with one time, the first in the list.
    let twin = Item(name: "c", device: "phone", copiedAt: 9)
    #expect(mirror.handleItems([pinned, twin, new, old]) == "c")
    #expect(mirror.handleItems([pinned, twin, new, old]) == nil)
  }

  @Test func anImageIsNotWrittenAndNoOlderTextInItsPlace() {
    let mirror = running()
    let image = Item(name: "i", device: "phone", copiedAt: 2, isText: false)
    #expect(mirror.handleItems([image, Item(name: "a", device: "phone", copiedAt: 1)]) == nil)
  }

  @Test func whatIsOnTheDesktopAlreadyIsNotWrittenAgain() {
    let mirror = running()
    #expect(mirror.handleDesktop(.text("same"), at: 1) == .send("same"))
    #expect(mirror.handleItems([Item(name: "b", device: "phone")]) == "b")
    #expect(!mirror.handleText("same"))
    #expect(!mirror.handleText(" \n"))
  }

  @Test func blankTextsImagesAndPasswordsAreNotSent() {
    let mirror = running()
    for contents in [.text(""), .text(" \n\t\u{3000}"), .nothing, .notText]
      as [ClipboardMirror.Contents]
    {
      #expect(mirror.handleDesktop(contents, at: 1) == .nothing)
    }
    #expect(mirror.handleDesktop(.text("word"), at: 2) == .send("word"))
    #expect(mirror.handleDesktop(.secret, at: 3) == .ignore(.secret))
    // It is read again and again, and the person is told once.
    #expect(mirror.handleDesktop(.secret, at: 4) == .nothing)
    // The account's newest item is the word still.
    #expect(mirror.handleDesktop(.text("word"), at: 5) == .nothing)
    #expect(mirror.handleDesktop(.nothing, at: 6) == .nothing)
    #expect(mirror.handleDesktop(.secret, at: 7) == .ignore(.secret))
  }

  @Test func aPasswordThatIsThereAtTheStartIsNoNews() {
    let mirror = running(desktop: .secret)
    #expect(mirror.handleDesktop(.secret, at: 1) == .nothing)
    #expect(mirror.handleItems([Item(name: "b", device: "phone")]) == "b")
    #expect(mirror.handleText("hello"))
  }

  @Test func textsHaveABound() {
    let mirror = running()
    let most = String(repeating: "x", count: ClipboardMirror.textBytesMax)
    #expect(mirror.handleDesktop(.text(most + "x"), at: 1) == .ignore(.tooLarge))
    #expect(mirror.handleDesktop(.text(most), at: 2) == .send(most))
    #expect(mirror.handleDesktop(.tooLarge, at: 3) == .ignore(.tooLarge))
    #expect(mirror.handleDesktop(.tooLarge, at: 4) == .nothing)
  }

  /// Two programs change each other's copies for ever.
  @Test func manyCopiesInAMinuteAreBounded() {
    let mirror = running()
    for number in 0..<ClipboardMirror.sendsMax {
      let text = "\(number)"
      #expect(mirror.handleDesktop(.text(text), at: Int64(number)) == .send(text))
    }
    #expect(mirror.handleDesktop(.text("more"), at: 59_999) == .ignore(.tooMany))
    #expect(mirror.handleDesktop(.text("later"), at: 60_000) == .send("later"))
    #expect(mirror.handleDesktop(.text("more"), at: 60_000) == .ignore(.tooMany))
  }

  @Test func aClipboardThatIsSwitchedOffIsLeftAlone() {
    let mirror = running()
    mirror.isOff = true
    #expect(mirror.handleDesktop(.text("private"), at: 1) == .ignore(.switchedOff))
    #expect(mirror.handleItems([Item(name: "b", device: "phone")]) == nil)
    mirror.isOff = false
    #expect(mirror.handleDesktop(.text("private"), at: 2) == .nothing)
    #expect(mirror.handleDesktop(.text("public"), at: 3) == .send("public"))
  }

  @Test func aNewDesktopSessionStartsAnew() {
    let mirror = running()
    #expect(mirror.handleDesktop(.text("one"), at: 1) == .send("one"))
    mirror.handleLostDesktop()
    #expect(mirror.handleDesktop(.text("two"), at: 2) == .nothing)
    #expect(mirror.handleDesktop(.text("three"), at: 3) == .send("three"))
    #expect(mirror.handleItems([Item(name: "b", device: "phone")]) == "b")
    #expect(mirror.handleText("four"))
    mirror.handleFailedWrite()
    #expect(mirror.handleText("four"))
    #expect(mirror.handleDesktop(.text("four"), at: 4) == .nothing)
    #expect(mirror.handleDesktop(.nothing, at: 5) == .nothing)
    #expect(mirror.handleText("four"), "the desktop has lost it meanwhile")
  }

  /// The program that holds the text needs a moment, and the former one still answers.
  @Test func theFormerTextIsNotSentWhileAnotherIsWritten() {
    let mirror = running()
    #expect(mirror.handleDesktop(.text("mine"), at: 1) == .send("mine"))
    #expect(mirror.handleItems([Item(name: "b", device: "phone")]) == "b")
    #expect(mirror.handleText("theirs"))
    #expect(mirror.handleDesktop(.text("mine"), at: 2) == .nothing)
    #expect(mirror.handleDesktop(.text("theirs"), at: 3) == .nothing)
    #expect(mirror.handleDesktop(.text("mine"), at: 4) == .send("mine"))
  }

  @Test func aCopyThatCouldNotBeSentIsNewIfItIsCopiedAgain() {
    let mirror = running()
    #expect(mirror.handleDesktop(.text("one"), at: 1) == .send("one"))
    mirror.handleFailedSend()
    #expect(mirror.handleDesktop(.text("one"), at: 2) == .nothing)
    #expect(mirror.handleDesktop(.nothing, at: 3) == .nothing)
    #expect(mirror.handleDesktop(.text("one"), at: 4) == .send("one"))
  }

  @Test func everyReasonIsASentence() {
    for reason in [.secret, .tooLarge, .tooMany, .switchedOff] as [ClipboardMirror.Reason] {
      #expect(reason.text.hasPrefix("A copy") && reason.text.hasSuffix("."))
    }
  }
}
