import LockstepJSON
import LockstepModel

/// Content of a wake: the account's change token, and nothing of what has changed.
///
///     {"v":1,"t":"<change token>"}
///
/// If the relay has a newer key than the one for which the device subscribed, the content names it
/// as well, `"k":"<wakeKey>"`: the device subscribes again, for that one.
package struct WakePayload: Hashable, Sendable {
  private static let version: Int64 = 1

  package let token: ChangeToken
  /// The relay's newest key in Base64 for URLs, if the device did not subscribe for it.
  package let newKey: String?

  package init(token: ChangeToken, newKey: String? = nil) {
    self.token = token
    self.newKey = newKey
  }

  /// Reads a wake of this version; members that are not known are ignored. Returns nil for anything
  /// else.
  package init?(_ bytes: [UInt8]) {
    guard let value = JSONValue(ifJSON: bytes), value["v"]?.int64 == WakePayload.version,
      let text = value["t"]?.string, let token = ChangeToken(text: text)
    else { return nil }
    self.init(token: token, newKey: value["k"]?.string)
  }

  package var bytes: [UInt8] {
    var writer = JSONWriter(capacity: Limits.changeTokenBytes + 128)
    writer.beginObject()
    writer.member("v")
    writer.integer(WakePayload.version)
    writer.member("t")
    writer.plain { token.append(to: &$0) }
    if let newKey {
      writer.member("k")
      writer.string(newKey)
    }
    writer.endObject()
    return writer.finish()
  }
}
