import LockstepModel
import LockstepWire

/// What the driver tells of the connections that carry pieces of files.
extension Agent {
  /// Whether the connection is one of these.
  func ownsPieceLine(_ id: ConnectionID) -> Bool {
    pieces.questions?.id == id || pieces.uploads.contains { $0.id == id }
      || pieces.lines.contains { $0.id == id }
  }

  mutating func pieceLineOpened(_ id: ConnectionID, at moment: Moment) {
    let now = moment.instant
    if pieces.questions?.id == id { pieces.questions?.opened(at: now, &pieces.output) }
    for index in pieces.uploads.indices where pieces.uploads[index].id == id {
      uploadMoved(
        index, pieces.uploads[index].opened(at: now, &pieces.output), at: moment)
    }
    for index in pieces.lines.indices where pieces.lines[index].id == id {
      downloadMoved(index, pieces.lines[index].opened(at: now, &pieces.output), at: moment)
    }
  }

  mutating func pieceLineReceived(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let now = moment.instant
    if pieces.questions?.id == id {
      pieces.output.countReceived(bytes.byteCount)
      answered(pieces.questions?.received(bytes, at: now, &pieces.output))
    }
    for index in pieces.uploads.indices where pieces.uploads[index].id == id {
      uploadMoved(
        index, pieces.uploads[index].received(bytes, at: now, &pieces.output), at: moment)
    }
    for index in pieces.lines.indices where pieces.lines[index].id == id {
      downloadMoved(index, pieces.lines[index].received(bytes, at: now, &pieces.output), at: moment)
    }
  }

  mutating func pieceLineDrained(_ id: ConnectionID, unsent: Int, at moment: Moment) {
    for index in pieces.uploads.indices where pieces.uploads[index].id == id {
      uploadMoved(index, pieces.uploads[index].drained(unsent, at: moment.instant), at: moment)
    }
  }

  mutating func pieceLineClosed(_ id: ConnectionID, _ cause: CloseCause, at moment: Moment) {
    let now = moment.instant
    if pieces.questions?.id == id {
      answered(pieces.questions?.closed(cause, at: now, &pieces.output))
    }
    for index in pieces.uploads.indices where pieces.uploads[index].id == id {
      uploadMoved(index, pieces.uploads[index].closed(cause), at: moment)
    }
    for index in pieces.lines.indices where pieces.lines[index].id == id {
      downloadMoved(index, pieces.lines[index].closed(cause), at: moment)
    }
  }

  mutating func expirePieceLines(at moment: Moment) {
    let now = moment.instant
    answered(pieces.questions?.expired(at: now, &pieces.output))
    for index in pieces.uploads.indices {
      uploadMoved(
        index, pieces.uploads[index].expired(at: now, &pieces.output), at: moment)
    }
    for index in pieces.lines.indices {
      downloadMoved(index, pieces.lines[index].expired(at: now, &pieces.output), at: moment)
    }
  }

  var pieceLineDeadline: Instant? {
    let deadlines =
      [pieces.questions?.deadline] + pieces.uploads.map(\.deadline) + pieces.lines.map(\.deadline)
    return deadlines.compactMap { $0 }.min()
  }
}
