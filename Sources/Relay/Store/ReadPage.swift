import LockstepModel
import LockstepWire

/// In which bytes a page of changes leaves.
public struct PageForm: Sendable, Hashable {
  public enum Shape: Sendable, Hashable {
    /// A message on a socket, in its frame; with `request`, the answer to that fetch. The socket
    /// may take it compressed.
    case frame(request: String?, isCompressed: Bool = false)
    /// An event of a stream, as a chunk of it where its chunks are chunks.
    case event(isChunked: Bool)
    /// The body of an answer.
    case body
  }

  let shape: Shape
  /// The records are looked at once more, for what wakes a device.
  var keepsRecords = false
}

/// A page of changes that was read for one connection, encoded where it was read: a node's loop has
/// only to send it.
public struct ReadPage: Sendable, Hashable {
  /// Which part of the account's history it is: `since` is nil at the start of a snapshot.
  let since: ChangeToken?
  let token: ChangeToken
  let more: Bool
  let isEmpty: Bool
  /// Only where its form keeps them.
  let records: [Record]
  let bytes: [UInt8]
  /// The nanoseconds that it took to be read and encoded; 0 where nobody measured.
  var nanoseconds: Int64 = 0

  init(_ page: ChangePage, as form: PageForm) {
    since = page.since
    token = page.token
    more = page.more
    isEmpty = page.changes.isEmpty
    let changes = EncodedChanges(page.changes, lostTags: page.lostTags)
    records = form.keepsRecords ? page.changes : []
    switch form.shape {
    case .frame(let request, let isCompressed):
      bytes = WebSocketFrame.text(
        changes.message(id: request, since: since, token: token, more: more),
        deflate: isCompressed ? RelayNode.deflate : nil)
    case .event(let isChunked):
      let event = changes.event(since: since, token: token, more: more)
      bytes = isChunked ? HTTPWriter.chunk(event) : event
    case .body: bytes = changes.body(since: since, token: token, more: more)
    }
  }
}
