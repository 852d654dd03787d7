import LockstepModel
import LockstepWire

/// Encoding of a page of changes.
@usableFromInline
package struct PageForm: Sendable, Hashable {
  @usableFromInline
  package enum Shape: Sendable, Hashable {
    /// A message on a socket, in its frame; with `request`, the answer to that fetch. The socket
    /// may accept it compressed.
    case frame(request: String?, isCompressed: Bool = false)
    /// An event of a stream; a chunk of the transfer coding if the stream is chunked.
    case event(isChunked: Bool)
    /// The body of an answer.
    case body
    /// A list of records, of this type if there is one.
    case list(type: Name?)
  }

  let shape: Shape
  /// True if the records are needed once more, for a device's filter.
  var keepsRecords = false
}

/// A page of changes that was read for one connection. It is encoded by the worker that read it: a
/// node's loop only sends it.
@usableFromInline
package struct ReadPage: Sendable, Hashable {
  /// Range in the account's history: `since` is nil at the start of a snapshot.
  let since: ChangeToken?
  let token: ChangeToken
  let more: Bool
  let isEmpty: Bool
  /// Empty unless its form keeps them.
  let records: [Record]
  let bytes: [UInt8]
  /// Nanoseconds for reading and encoding; 0 if not measured.
  var nanoseconds: Int64 = 0

  init(_ page: ChangePage, as form: PageForm) {
    since = page.since
    token = page.token
    more = page.more
    isEmpty = page.changes.isEmpty
    var shown = page.changes
    if case .list(let type?) = form.shape { shown.removeAll { $0.type != type } }
    let changes = EncodedChanges(shown, lostTags: page.lostTags)
    records = form.keepsRecords ? page.changes : []
    switch form.shape {
    case .frame(let request, let isCompressed):
      bytes = WebSocketFrame.text(
        changes.message(id: request, since: since, token: token, more: more),
        deflate: isCompressed ? RelayServices.deflate : nil)
    case .event(let isChunked):
      let event = changes.event(since: since, token: token, more: more)
      bytes = isChunked ? HTTPWriter.chunk(event) : event
    case .body: bytes = changes.body(since: since, token: token, more: more)
    case .list: bytes = changes.list(token: token, more: more)
    }
  }
}
