import LockstepModel

/// Summary of a `changes` message for a load reader: the cursor, whether there is more, and the
/// number of records. The whole message is checked to be JSON, but no record is decoded, so that
/// the reader costs a small part of the relay's work.
struct PageSummary: Hashable {
  var token: ChangeToken
  var more: Bool
  var records: Int

  private static let token = JSONKey("token".utf8)
  private static let more = JSONKey("more".utf8)
  private static let changes = JSONKey("changes".utf8)

  /// Returns nil if the message is not a `changes` message.
  init?(_ message: [UInt8]) {
    guard message.starts(with: #"{"op":"changes""#.utf8) else { return nil }
    var token: ChangeToken?
    var more: Bool?
    var records = 0
    do throws(JSONFault) {
      var scanner = JSONScanner(message.span.bytes)
      try scanner.enterObject()
      while let key = try scanner.nextMember() {
        switch key {
        case Self.token: token = ChangeToken(text: try scanner.string())
        case Self.more: more = try scanner.bool()
        case Self.changes:
          try scanner.enterArray()
          while try scanner.nextElement() {
            try scanner.skipValue()
            records += 1
          }
        default: try scanner.skipValue()
        }
      }
      try scanner.finish()
    } catch {
      return nil
    }
    guard let token, let more else { return nil }
    self.token = token
    self.more = more
    self.records = records
  }
}
