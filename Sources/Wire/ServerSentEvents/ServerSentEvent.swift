/// One event of a stream, as whoever listens understands it.
package struct ServerSentEvent: Hashable, Sendable {
  /// "message" where the stream names none.
  package var name: String
  package var data: [UInt8]
  /// The last id that the stream has given, with this event or before; nil where there was none.
  package var lastID: String?

  package init(name: String, data: [UInt8], lastID: String? = nil) {
    self.name = name
    self.data = data
    self.lastID = lastID
  }
}
