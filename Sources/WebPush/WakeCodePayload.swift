import LockstepJSON
import LockstepModel

/// Content of the push that verifies a registration: the code that the device sends back.
///
///     {"v":1,"c":"<code>"}
package struct WakeCodePayload: Hashable, Sendable {
  private static let version: Int64 = 1

  package let code: String

  package init(code: String) { self.code = code }

  /// Reads a code of this version; members that are not known are ignored. Returns nil for anything
  /// else.
  package init?(_ bytes: [UInt8]) {
    guard let value = JSONValue(ifJSON: bytes), value["v"]?.int64 == WakeCodePayload.version,
      let code = value["c"]?.string, (1...Limits.wakeCodeBytes).contains(code.utf8.count)
    else { return nil }
    self.code = code
  }

  package var bytes: [UInt8] {
    var writer = JSONWriter(capacity: Limits.wakeCodeBytes + 32)
    writer.beginObject()
    writer.member("v")
    writer.integer(WakeCodePayload.version)
    writer.member("c")
    writer.string(code)
    writer.endObject()
    return writer.finish()
  }
}
