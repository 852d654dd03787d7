import LockstepJSON
import LockstepModel

/// Content of a wake: the account's change token, and nothing of what has changed.
///
///     {"v":1,"t":"<change token>"}
package struct WakePayload: Hashable, Sendable {
  private static let version: Int64 = 1

  package let token: ChangeToken

  package init(token: ChangeToken) { self.token = token }

  /// Reads a wake of this version; members that are not known are ignored. Returns nil for anything
  /// else.
  package init?(_ bytes: [UInt8]) {
    guard let value = JSONValue(ifJSON: bytes), value["v"]?.int64 == WakePayload.version,
      let text = value["t"]?.string, let token = ChangeToken(text: text)
    else { return nil }
    self.token = token
  }

  package var bytes: [UInt8] {
    var writer = JSONWriter(capacity: Limits.changeTokenBytes + 32)
    writer.beginObject()
    writer.member("v")
    writer.integer(WakePayload.version)
    writer.member("t")
    writer.plain { token.append(to: &$0) }
    writer.endObject()
    return writer.finish()
  }
}
