import LockstepClient
import LockstepLanguage
import LockstepModel
import LockstepSealing

/// A pairing code as a person enters it: the code itself, or the link printed with it, from the
/// command line or from standard input.
///
///     http://RELAY:5625/#code=7Q2M-0XKD-9RTA&keys
///     lockstep+http://RELAY:5625/#code=7Q2M-0XKD-9RTA-C4VH-1EZB-83NW
///
/// A link for browsers contains the relay's part only, because the relay's own page would read the
/// rest, and a mark if there is more. The whole code is in a link that no browser opens. The same
/// applies to https://.
package struct TypedCode: Equatable {
  package let code: JoinCode
  /// Relay of the link; nil for a code alone.
  package let relay: RelayAddress?

  private static let mark = "/#code="
  private static let scheme = "lockstep+"

  package init(_ text: String) throws(LockstepError) {
    guard text.contains("#") else {
      code = try Self.code(text)
      relay = nil
      return
    }
    var link = text.split(whereSeparator: \.isWhitespace).joined()
    if link.hasPrefix(Self.scheme) { link.removeFirst(Self.scheme.count) }
    guard let mark = Self.range(of: Self.mark, in: link),
      let relay = RelayAddress(url: String(link[..<mark.lowerBound]))
    else {
      throw .invalidCode(
        reason: localized("that is not a link with a code, such as http://RELAY:5625/#code=CODE"))
    }
    self.relay = relay
    code = try Self.code(String(link[mark.upperBound...]))
  }

  /// Returns a link for a browser. `relayPart`: the relay's part of the code. `carriesKeys`: the
  /// device that opens it must not join without keys.
  package static func pageLink(
    to relay: RelayAddress, _ relayPart: String, carriesKeys: Bool
  ) -> String {
    relay.link + mark + JoinCode.linked(relayPart, carriesKeys: carriesKeys)
  }

  /// Returns a link for the program on another device; it may contain the whole code.
  package static func deviceLink(to relay: RelayAddress, _ code: String) -> String {
    scheme + relay.link + mark + code
  }

  private static func code(_ text: String) throws(LockstepError) -> JoinCode {
    guard let code = JoinCode(typed: text) else {
      throw .invalidCode(
        reason: localized(
          "that code is mistyped: a code has 12 letters and digits, or 24 if "
            + "keys come with it; nothing was sent"))
    }
    return code
  }

  private static func range(of mark: String, in text: String) -> Range<String.Index>? {
    var start = text.startIndex
    while start < text.endIndex {
      if text[start...].hasPrefix(mark) {
        return start..<text.index(start, offsetBy: mark.count)
      }
      start = text.index(after: start)
    }
    return nil
  }
}
