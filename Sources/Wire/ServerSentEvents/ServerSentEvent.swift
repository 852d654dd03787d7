/// One event of a stream, after parsing.
package struct ServerSentEvent: Hashable, Sendable {
  /// "message" if the stream gives no name.
  package var name: String
  package var data: [UInt8]
  /// The last id that the stream has given, with this event or before; nil if there was none.
  package var lastID: String?

  package init(name: String, data: [UInt8], lastID: String? = nil) {
    self.name = name
    self.data = data
    self.lastID = lastID
  }
}
