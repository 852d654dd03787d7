import LockstepClient
import LockstepCrypto
import LockstepModel
import LockstepStorage

/// What a person has under way with pieces of files; gone with the process.
struct PieceHands {
  /// An edit that is made once its pieces are in the home.
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
  /// Of a few sizes: nothing, a few bytes, and several portions.
  static func pieceBytes(_ number: Int) -> [UInt8] {
    let count = [0, 5, 1_000, 40_000, 140_000, 300_000][number % 6]
    return (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 7 &+ number) }
  }

  /// `edit`: of the hashes of the pieces, in their order.
  func attach(_ pieces: [[UInt8]], _ edit: @escaping ([ChunkHash]) -> EditRequest) {
    let orders = pieces.map { _ in nextOrderID() }
    pieceHands.attachments.append(
      PieceHands.Attachment(waiting: orders, edit: edit, hashes: pieces.map { _ in nil }))
    for (order, piece) in zip(orders, pieces) { self.order(.addPiece(order, piece)) }
  }

  func pieceAdded(_ order: OrderID, _ result: Result<ChunkHash, ChunkFailure>) {
    guard
      let index = pieceHands.attachments.firstIndex(where: { $0.waiting.contains(order) }),
      let place = pieceHands.attachments[index].waiting.firstIndex(of: order)
    else { return }
    outside.log(from: name, to: "person", .note("piece kept: \(result)"))
    // Who cannot keep the file writes no record of it.
    guard case .success(let hash) = result else {
      pieceHands.attachments.remove(at: index)
      return
    }
    pieceHands.attachments[index].hashes[place] = hash
    let hashes = pieceHands.attachments[index].hashes.compactMap { $0 }
    guard hashes.count == pieceHands.attachments[index].waiting.count else { return }
    let done = pieceHands.attachments.remove(at: index)
    // Not within what the agent does just now.
    outside.timeline.after(0) { [weak self] in
      guard let self, isRunning else { return }
      edit(done.edit(hashes))
    }
  }

  func readPieces(of note: Int) {
    var pieces: [ChunkHash] = []
    do throws(StorageError) {
      pieces = try store.record(NotesApp.key(note))?.chunks ?? []
    } catch {
      return
    }
    for hash in pieces {
      let order = nextOrderID()
      pieceHands.readings.append(PieceHands.Reading(order: order, hash: hash))
      self.order(.readPiece(order, hash, offset: 0, count: .max))
    }
  }

  /// What is told as a whole piece has the bytes of its hash.
  func pieceRead(_ order: OrderID, _ result: Result<ChunkPortion, ChunkFailure>) {
    guard let index = pieceHands.readings.firstIndex(where: { $0.order == order }) else { return }
    switch result {
    case .success(let portion):
      if portion.offset != pieceHands.readings[index].bytes.count {
        outside.fault("\(name) reads a piece out of order")
      }
      pieceHands.readings[index].bytes += portion.bytes
      guard portion.isLast else { return }
      let whole = pieceHands.readings.remove(at: index)
      if SHA256.hash(whole.bytes) != whole.hash.bytes {
        outside.fault("\(name) shows a piece with other bytes than its name says")
      }
    case .failure(let failure):
      pieceHands.readings.remove(at: index)
      outside.log(from: name, to: "person", .note("piece not read: \(failure)"))
      if failure == .damaged { outside.fault("\(name) finds a piece damaged that nobody touched") }
    }
  }
}
