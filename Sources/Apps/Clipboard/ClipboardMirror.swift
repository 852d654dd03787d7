import LockstepLanguage
import LockstepModel

/// Mirror between a desktop's clipboard and the account's newest item, as a state machine: decides
/// what goes from one to the other. Performs nothing by itself.
///
///     starting ──(first contents and first list)──▶ running ──(desktop lost)──▶ starting
///
/// Whatever stands on both sides at the start stays there: only what is copied from then on goes to
/// the other side.
package struct ClipboardMirror: Sendable {
  /// Contents of a desktop's clipboard.
  package enum Contents: Hashable, Sendable {
    case text(String)
    case nothing
    /// Marked as a password by the program that copied it. It is not read.
    case secret
    /// An image, or anything else that is not text.
    case notText
    /// A text of more than `textBytesMax`.
    case tooLarge
  }

  /// An item of the account, as the list of the clipboard shows it.
  package struct Item: Hashable, Sendable {
    package var name: String
    package var device: String
    /// Relay time at which it was copied, in milliseconds. Pinned items come first in the list, but
    /// are not the newest for that.
    package var copiedAt: Int64
    /// False for an image.
    package var isText: Bool

    package init(name: String, device: String, copiedAt: Int64 = 0, isText: Bool = true) {
      self.name = name
      self.device = device
      self.copiedAt = copiedAt
      self.isText = isText
    }
  }

  /// Reason for which a person's copy stays on the desktop.
  package enum Reason: String, Hashable, Sendable {
    case secret, tooLarge, tooMany, switchedOff

    /// One sentence for the person.
    package var text: String {
      switch self {
      case .secret: localized("A copy that is marked as a password was not synced.")
      case .tooLarge:
        localized(
          "A copy of more than {size} was not synced; add it with lockstep clipboard add, or put "
            + "it into the vault.", ["size": "\(ClipboardMirror.textBytesMax >> 10) KiB"])
      case .tooMany:
        localized(
          "A copy was not synced: there were {count} within a minute. Another program may change "
            + "the clipboard by itself.", ["count": String(ClipboardMirror.sendsMax)])
      case .switchedOff:
        localized(
          "A copy was not synced: the clipboard is switched off here; switch it on with lockstep "
            + "clipboard on.")
      }
    }
  }

  package enum Step: Hashable, Sendable {
    /// Add the text to the account as its newest item.
    case send(String)
    case ignore(Reason)
    case nothing
  }

  /// Bytes of the largest text that is synced. A record's limit is a mebibyte of JSON, and JSON
  /// writes some characters longer.
  package static let textBytesMax = 256 << 10
  /// Copies that are sent in one minute: more than a person makes. Bounds what two programs cause
  /// that change each other's copies.
  package static let sendsMax = 30
  private static let sendsMilliseconds: Int64 = 60_000

  /// The device on which this runs.
  private let device: String
  /// Contents of the desktop when they were read or written last; nil if that has not happened yet.
  private var desktop: Contents?
  /// Text that was sent or written last, or that stood on the desktop at the start.
  private var synced: String?
  /// Contents that a written text replaces, until the desktop has that text: a program needs a
  /// moment to offer it.
  private var replaced: Contents?
  /// Names of the items in the last list; nil before the first one.
  private var names: Set<String>?
  /// Times of the last sends, milliseconds, the oldest first; at most `sendsMax`.
  private var sends: [Int64] = []
  /// True while the clipboard of this device is switched off.
  package var isOff = false

  package init(device: String) { self.device = device }

  /// True if the contents differ from those that were read or written last.
  package func isNew(_ contents: Contents) -> Bool { desktop != contents && replaced != contents }

  /// Handles the desktop's contents, whenever they may have changed. `now`: milliseconds of a clock
  /// that does not go back.
  package mutating func handleDesktop(_ contents: Contents, at now: Int64) -> Step {
    if let replaced, replaced == contents { return .nothing }
    replaced = nil
    let before = desktop
    desktop = contents
    guard let before else {
      if case .text(let text) = contents { synced = text }
      return .nothing
    }
    // The same contents are read many times; the person is told once.
    guard before != contents else { return .nothing }
    switch contents {
    case .nothing, .notText: return .nothing
    case .secret: return .ignore(.secret)
    case .tooLarge: return .ignore(.tooLarge)
    case .text(let text): return handleCopy(text, at: now)
    }
  }

  private mutating func handleCopy(_ text: String, at now: Int64) -> Step {
    if Self.isBlank(text) { return .nothing }
    if let synced, Self.isSame(synced, text) { return .nothing }
    guard text.utf8.count <= Self.textBytesMax else { return .ignore(.tooLarge) }
    if isOff { return .ignore(.switchedOff) }
    sends.removeAll { now - $0 >= Self.sendsMilliseconds }
    guard sends.count < Self.sendsMax else { return .ignore(.tooMany) }
    sends.append(now)
    synced = text
    return .send(text)
  }

  /// Handles the account's items, as they are listed. Returns the name of the item whose text is to
  /// be read for the desktop; nil if there is none.
  package mutating func handleItems(_ items: [Item]) -> String? {
    defer { names = Set(items.map(\.name)) }
    // Of items with one time, the one that is listed first.
    let newest = items.max { $0.copiedAt < $1.copiedAt }
    guard let names, let newest, newest.device != device, newest.isText,
      !names.contains(newest.name), !isOff
    else { return nil }
    return newest.name
  }

  /// Returns true if an item's text is to be written to the desktop, which has it from then on.
  package mutating func handleText(_ text: String) -> Bool {
    guard !Self.isBlank(text) else { return false }
    let isThere = synced.map { Self.isSame($0, text) } ?? false
    synced = text
    if isThere, case .text = desktop { return false }
    replaced = desktop
    desktop = .text(text)
    return true
  }

  /// Handles a text that could not be sent: if it is copied again, it is new.
  package mutating func handleFailedSend() { synced = nil }

  /// Handles a text that could not be written: the desktop has what it had before, unless it was
  /// seen with the text.
  package mutating func handleFailedWrite() {
    guard let replaced else { return }
    synced = nil
    desktop = replaced
    self.replaced = nil
  }

  /// Handles the end of the desktop's session: the next one starts anew.
  package mutating func handleLostDesktop() {
    desktop = nil
    replaced = nil
  }

  private static func isBlank(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.properties.isWhitespace || $0 == "\0" }
  }

  /// True if the texts are the same but for line ends and what stands behind the last word: some
  /// programs change these in a text that they hold for another.
  private static func isSame(_ text: String, _ other: String) -> Bool {
    text.utf8.elementsEqual(other.utf8) || plain(text).elementsEqual(plain(other))
  }

  private static func plain(_ text: String) -> [Unicode.Scalar] {
    var scalars = text.unicodeScalars.filter { $0 != "\r" }
    while let last = scalars.last, last.properties.isWhitespace || last == "\0" {
      scalars.removeLast()
    }
    return Array(scalars)
  }
}
