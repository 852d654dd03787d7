import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Chunk operations that a user has started; lost when the process ends.
struct ChunkHands {
  /// An edit that is made once its chunks are stored on the device.
  struct Attachment {
    var waiting: [OrderID]
    var edit: ([ChunkHash]) -> EditRequest
    var hashes: [ChunkHash?]
  }

  struct Reading {
    var order: OrderID
    var hash: ChunkHash
    var bytes: [UInt8] = []
  }

  var attachments: [Attachment] = []
  var readings: [Reading] = []
}

extension DeviceMachine {
  /// Returns the bytes of a test chunk. Six sizes: empty, a few bytes, up to several portions.
  static func chunkBytes(_ number: Int) -> [UInt8] {
    let count = [0, 5, 1_000, 40_000, 140_000, 300_000][number % 6]
    return (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 7 &+ number) }
  }

  /// Stores the chunks, then makes the edit. `edit`: gets the hashes of the chunks, in their order.
  func attach(_ chunks: [[UInt8]], _ edit: @escaping ([ChunkHash]) -> EditRequest) {
    let orders = chunks.map { _ in nextOrderID() }
    chunkHands.attachments.append(
      ChunkHands.Attachment(waiting: orders, edit: edit, hashes: chunks.map { _ in nil }))
    for (order, chunk) in zip(orders, chunks) { self.order(.addChunk(order, chunk)) }
  }

  func chunkAdded(_ order: OrderID, _ result: Result<ChunkHash, ChunkFailure>) {
    guard
      let index = chunkHands.attachments.firstIndex(where: { $0.waiting.contains(order) }),
      let place = chunkHands.attachments[index].waiting.firstIndex(of: order)
    else { return }
    outside.log(from: name, to: "person", .note("chunk kept: \(result)"))
    // A user who cannot store the file writes no record of it.
    guard case .success(let hash) = result else {
      chunkHands.attachments.remove(at: index)
      return
    }
    chunkHands.attachments[index].hashes[place] = hash
    let hashes = chunkHands.attachments[index].hashes.compactMap { $0 }
    guard hashes.count == chunkHands.attachments[index].waiting.count else { return }
    let done = chunkHands.attachments.remove(at: index)
    // Runs after the agent has performed its current actions.
    outside.timeline.after(0) { [weak self] in
      guard let self, isRunning else { return }
      edit(done.edit(hashes))
    }
  }

  func readChunks(of note: Int) {
    var chunks: [ChunkHash] = []
    do throws(StorageError) {
      chunks = try store.record(NotesApp.key(note))?.chunks ?? []
    } catch {
      return
    }
    for hash in chunks {
      let order = nextOrderID()
      chunkHands.readings.append(ChunkHands.Reading(order: order, hash: hash))
      self.order(.readChunk(order, hash, offset: 0, count: .max))
    }
  }

  /// Checks that a chunk that was read to its end has the bytes of its hash.
  func chunkRead(_ order: OrderID, _ result: Result<ChunkPortion, ChunkFailure>) {
    guard let index = chunkHands.readings.firstIndex(where: { $0.order == order }) else { return }
    switch result {
    case .success(let portion):
      if portion.offset != chunkHands.readings[index].bytes.count {
        outside.fault("\(name) reads a chunk out of order")
      }
      chunkHands.readings[index].bytes += portion.bytes
      guard portion.isLast else { return }
      let whole = chunkHands.readings.remove(at: index)
      if SHA256.hash(whole.bytes) != whole.hash.bytes {
        outside.fault("\(name) shows a chunk with other bytes than its name says")
      }
    case .failure(let failure):
      chunkHands.readings.remove(at: index)
      outside.log(from: name, to: "person", .note("chunk not read: \(failure)"))
      if failure == .damaged { outside.fault("\(name) finds a chunk damaged that nobody touched") }
    }
  }
}
