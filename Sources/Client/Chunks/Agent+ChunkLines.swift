import LockstepModel
import LockstepWire

/// Driver events of the connections that carry chunks of files.
extension Agent {
  /// True if the connection carries chunks of files.
  func ownsChunkLine(_ id: ConnectionID) -> Bool {
    chunks.questions?.id == id || chunks.uploads.contains { $0.id == id }
      || chunks.lines.contains { $0.id == id }
  }

  mutating func chunkLineOpened(_ id: ConnectionID, at moment: Moment) {
    let now = moment.instant
    if chunks.questions?.id == id { chunks.questions?.opened(at: now, &chunks.output) }
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      uploadMoved(
        index, chunks.uploads[index].opened(at: now, &chunks.output), at: moment)
    }
    for index in chunks.lines.indices where chunks.lines[index].id == id {
      downloadMoved(index, chunks.lines[index].opened(at: now, &chunks.output), at: moment)
    }
  }

  mutating func chunkLineReceived(_ id: ConnectionID, _ bytes: RawSpan, at moment: Moment) {
    let now = moment.instant
    if chunks.questions?.id == id {
      chunks.output.countReceived(bytes.byteCount)
      answered(chunks.questions?.received(bytes, at: now, &chunks.output))
    }
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      uploadMoved(
        index, chunks.uploads[index].received(bytes, at: now, &chunks.output), at: moment)
    }
    for index in chunks.lines.indices where chunks.lines[index].id == id {
      downloadMoved(index, chunks.lines[index].received(bytes, at: now, &chunks.output), at: moment)
    }
  }

  mutating func chunkLineDrained(_ id: ConnectionID, unsent: Int, at moment: Moment) {
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      uploadMoved(index, chunks.uploads[index].drained(unsent, at: moment.instant), at: moment)
    }
  }

  mutating func chunkLineClosed(_ id: ConnectionID, _ cause: CloseCause, at moment: Moment) {
    let now = moment.instant
    if chunks.questions?.id == id {
      answered(chunks.questions?.closed(cause, at: now, &chunks.output))
    }
    for index in chunks.uploads.indices where chunks.uploads[index].id == id {
      uploadMoved(index, chunks.uploads[index].closed(cause), at: moment)
    }
    for index in chunks.lines.indices where chunks.lines[index].id == id {
      downloadMoved(index, chunks.lines[index].closed(cause), at: moment)
    }
  }

  mutating func expireChunkLines(at moment: Moment) {
    let now = moment.instant
    answered(chunks.questions?.expired(at: now, &chunks.output))
    for index in chunks.uploads.indices {
      uploadMoved(
        index, chunks.uploads[index].expired(at: now, &chunks.output), at: moment)
    }
    for index in chunks.lines.indices {
      downloadMoved(index, chunks.lines[index].expired(at: now, &chunks.output), at: moment)
    }
  }

  var chunkLineDeadline: Instant? {
    let deadlines =
      [chunks.questions?.deadline] + chunks.uploads.map(\.deadline) + chunks.lines.map(\.deadline)
    return deadlines.compactMap { $0 }.min()
  }
}
