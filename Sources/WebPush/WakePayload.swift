import LockstepJSON
import LockstepModel

/// Content of a wake: the account's change token, and nothing of what has changed.
///
///     {"v":1,"t":"<change token>"}
///
/// If the relay has a newer key than the one for which the device subscribed, the content names it
/// as well, `"k":"<wakeKey>"`: the device subscribes again, for that one.
///
/// With a notice it is a declarative push message (W3C Push API): a browser that knows these shows
/// the notification, unless the app's code, which is given its `data`, shows another one. A browser
/// that does not know them gives the app's code the whole message.
///
///     {"web_push":8030,"mutable":true,"notification":{"title":"…","navigate":"https://…",
///     "tag":"lockstep changes","data":{"v":1,"t":"<change token>"}}}
package struct WakePayload: Hashable, Sendable {
  private static let version: Int64 = 1
  /// Marks a declarative push message: the number of the RFC of Web Push.
  private static let declarative: Int64 = 8030
  /// Each notification replaces the last one of this tag.
  private static let tag = "lockstep changes"

  package let token: ChangeToken
  /// The relay's newest key in Base64 for URLs, if the device did not subscribe for it.
  package let newKey: String?
  package let notice: WakeNotice?

  package init(token: ChangeToken, newKey: String? = nil, notice: WakeNotice? = nil) {
    self.token = token
    self.newKey = newKey
    self.notice = notice
  }

  /// Reads a wake of this version, without its notice, which is for browsers; members that are not
  /// known are ignored. Returns nil for anything else.
  package init?(_ bytes: [UInt8]) {
    guard let value = JSONValue(ifJSON: bytes) else { return nil }
    let isDeclarative = value["web_push"]?.int64 == WakePayload.declarative
    let data = isDeclarative ? value["notification"]?["data"] : value
    guard data?["v"]?.int64 == WakePayload.version, let text = data?["t"]?.string,
      let token = ChangeToken(text: text)
    else { return nil }
    self.init(token: token, newKey: data?["k"]?.string)
  }

  package var bytes: [UInt8] {
    var writer = JSONWriter(capacity: Limits.wakeRecordBytes)
    if let notice {
      writer.beginObject()
      writer.member("web_push")
      writer.integer(WakePayload.declarative)
      writer.member("mutable")
      writer.bool(true)
      writer.member("notification")
      writer.beginObject()
      notice.write(to: &writer)
      writer.member("tag")
      writer.string(WakePayload.tag)
      writer.member("data")
      write(to: &writer)
      writer.endObject()
      writer.endObject()
    } else {
      write(to: &writer)
    }
    return writer.finish()
  }

  private func write(to writer: inout JSONWriter) {
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
  }
}
