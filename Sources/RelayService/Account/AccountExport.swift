import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepTerminal
import LockstepWire

/// Writes a complete account to a folder while its devices keep saving.
///
/// The records are those of one moment: the export reads a snapshot, then the changes made
/// meanwhile, and drops the versions that these replaced. It fetches the chunks of files
/// afterwards. If a chunk is gone, the record that named it has changed since, and the export reads
/// the further changes.
///
/// Memory holds one page, one chunk, and the names of the records that changed during the export.
struct AccountExport {
  let account: AccountSummary
  let client: AdminClient
  let folder: ExportFolder
  let progress: Progress
  /// Returns true if the export is to stop.
  let isInterrupted: () throws(CommandFailure) -> Bool

  /// Progress of the export.
  private struct ReadState {
    var token: ChangeToken?
    var records = 0
    /// Newest tags of the records that changed after the snapshot began.
    var newer: [RecordKey: ChangeTag] = [:]
    /// Number of chunks fetched so far.
    var chunks = 0
    var chunkBytes: Int64 = 0
  }

  struct Outcome: Hashable {
    var account: AccountID
    var token: ChangeToken
    var records = 0
    var chunks = 0
    var chunkBytes: Int64 = 0
  }

  func run() throws(CommandFailure) -> Outcome {
    defer { progress.clear() }
    let spool = try folder.create(Self.spool)
    var state = ReadState()
    for _ in 0..<Self.attempts {
      let token = try read(into: spool, &state)
      guard let outcome = try writeNewestRecords(&state, token) else { continue }
      try folder.remove(Self.spool)
      try writeDevices()
      try folder.create("account.json").write(json(of: outcome).serialized() + Self.lineFeed)
      try folder.finish()
      return outcome
    }
    throw CommandFailure(
      "chunks of files that records name are missing repeatedly; the relay's store may be "
        + "damaged")
  }

  private static let spool = "records.partial"
  private static let lineFeed = [UInt8(ascii: "\n")]
  /// Maximum number of passes; each further one is due to changes that removed a chunk meanwhile.
  private static let attempts = 20

  /// Reads the account up to its newest change. Returns the token of that change.
  private func read(
    into spool: PlainFile, _ state: inout ReadState
  ) throws(CommandFailure) -> ChangeToken {
    while true {
      try checkInterruption()
      let isSnapshot = state.token == nil || state.token?.pinned != nil
      let page = try client.changes(of: account.id, since: state.token)
      var lines: [UInt8] = []
      for record in page.changes {
        if !isSnapshot { state.newer[record.key] = record.tag }
        if !record.isDeleted { lines += Self.line(record.encodedBody()) }
      }
      try spool.write(lines)
      state.token = page.token
      state.records += page.changes.count
      progress.show("\(state.records) records")
      if !isSnapshot && !page.more { return page.token }
    }
  }

  /// Keeps the newest version of each record and fetches its chunks. Returns nil if a chunk is
  /// gone.
  private func writeNewestRecords(
    _ state: inout ReadState, _ token: ChangeToken
  ) throws(CommandFailure) -> Outcome? {
    var outcome = Outcome(account: account.id, token: token)
    let output = try folder.create("records.jsonl")
    let input = try folder.open(Self.spool)
    var lines = LineReader(bytesMax: Limits.relayMessageBytes)
    while true {
      let block = try input.read(1 << 20)
      if block.isEmpty { break }
      lines.receive(block)
      var kept: [UInt8] = []
      while case .text(let line)? = lines.next() {
        let record = try decoded(line)
        if let newest = state.newer[record.key], newest != record.tag { continue }
        for chunk in record.chunks where !folder.has(chunk) {
          guard let bytes = try fetch(chunk) else { return nil }
          try folder.add(chunk, bytes)
          state.chunks += 1
          state.chunkBytes += Int64(bytes.count)
          progress.show("\(outcome.records) of \(state.records) records, \(state.chunks) chunks")
        }
        kept += line + Self.lineFeed
        outcome.records += 1
      }
      try output.write(kept)
    }
    outcome.chunks = state.chunks
    outcome.chunkBytes = state.chunkBytes
    return outcome
  }

  /// Returns nil if the account no longer has the chunk.
  private func fetch(_ chunk: ChunkHash) throws(CommandFailure) -> [UInt8]? {
    try checkInterruption()
    guard let bytes = try client.chunk(chunk, of: account.id) else { return nil }
    guard SHA256.hash(bytes) == chunk.bytes else {
      throw CommandFailure(
        "the bytes of the chunk \(chunk.text) do not match its hash; the relay's store is damaged")
    }
    return bytes
  }

  private func checkInterruption() throws(CommandFailure) {
    if try isInterrupted() {
      throw CommandFailure("the export was interrupted; nothing is left of it")
    }
  }

  private func writeDevices() throws(CommandFailure) {
    let devices = try client.devices(of: account.id)
    try folder.create("devices.jsonl").write(devices.flatMap { $0.encodedBody() + Self.lineFeed })
  }

  private func json(of outcome: Outcome) -> JSONValue {
    outcome.json
      .setting("label", to: .string(account.label)).setting("plan", to: account.plan.json)
      .setting("madeAt", to: JSONValue(integerLiteral: account.madeAt))
      .setting("exportedAt", to: JSONValue(integerLiteral: SystemClock.moment().wall))
  }

  /// Returns the record as one line. White space between JSON values may include line feeds, which
  /// become spaces.
  private static func line(_ body: [UInt8]) -> [UInt8] {
    body.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
      + lineFeed
  }

  private func decoded(_ line: [UInt8]) throws(CommandFailure) -> Record {
    do throws(Refusal) {
      return try Record.decoded(body: line)
    } catch {
      throw CommandFailure("a record of the export cannot be read back: \(error.detail)")
    }
  }
}

extension AccountExport.Outcome {
  package var json: JSONValue {
    [
      "accountID": .string(account.text), "token": .string(token.text),
      "records": JSONValue(integerLiteral: Int64(records)),
      "chunks": JSONValue(integerLiteral: Int64(chunks)),
      "chunkBytes": JSONValue(integerLiteral: chunkBytes),
    ]
  }

  package var text: String {
    let lines = "\(records) \(records == 1 ? "record" : "records")"
    if chunks == 0 { return lines }
    let chunkCount = "\(chunks) \(chunks == 1 ? "chunk" : "chunks")"
    return "\(lines) and \(chunkCount) of files (\(ByteCount.text(chunkBytes)))"
  }
}
