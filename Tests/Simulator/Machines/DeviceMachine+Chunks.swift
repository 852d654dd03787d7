import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Chunk operations that a user has started; lost when the process ends.
struct ChunkOperations {
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
    chunkOperations.attachments.append(
      ChunkOperations.Attachment(waiting: orders, edit: edit, hashes: chunks.map { _ in nil }))
    for (order, chunk) in zip(orders, chunks) { self.order(.addChunk(order, chunk)) }
  }

  func chunkAdded(_ order: OrderID, _ result: Result<ChunkHash, ChunkFailure>) {
    guard
      let index = chunkOperations.attachments.firstIndex(where: { $0.waiting.contains(order) }),
      let place = chunkOperations.attachments[index].waiting.firstIndex(of: order)
    else { return }
    environment.log(from: name, to: "person", .note("chunk kept: \(result)"))
    // A user who cannot store the file writes no record of it.
    guard case .success(let hash) = result else {
      chunkOperations.attachments.remove(at: index)
      return
    }
    chunkOperations.attachments[index].hashes[place] = hash
    let hashes = chunkOperations.attachments[index].hashes.compactMap { $0 }
    guard hashes.count == chunkOperations.attachments[index].waiting.count else { return }
    let done = chunkOperations.attachments.remove(at: index)
    // Runs after the agent has performed its current actions.
    environment.timeline.after(0) { [weak self] in
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
      chunkOperations.readings.append(ChunkOperations.Reading(order: order, hash: hash))
      self.order(.readChunk(order, hash, offset: 0, count: .max))
    }
  }

  /// Checks that a chunk that was read to its end has the bytes of its hash.
  func chunkRead(_ order: OrderID, _ result: Result<ChunkPortion, ChunkFailure>) {
    guard let index = chunkOperations.readings.firstIndex(where: { $0.order == order }) else {
      return
    }
    switch result {
    case .success(let portion):
      if portion.offset != chunkOperations.readings[index].bytes.count {
        environment.fault("\(name) reads a chunk out of order")
      }
      chunkOperations.readings[index].bytes += portion.bytes
      guard portion.isLast else { return }
      let whole = chunkOperations.readings.remove(at: index)
      if SHA256.hash(whole.bytes) != whole.hash.bytes {
        environment.fault("\(name) shows a chunk with other bytes than its name says")
      }
    case .failure(let failure):
      chunkOperations.readings.remove(at: index)
      environment.log(from: name, to: "person", .note("chunk not read: \(failure)"))
      if failure == .damaged {
        environment.fault("\(name) reads a damaged chunk, and no fault damaged it")
      }
    }
  }
}
