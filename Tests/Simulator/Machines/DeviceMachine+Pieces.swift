import Changes
import Devices
import Digest
import Storage

/// What a person has under way with pieces of files; gone with the process.
struct PieceHands {
  /// A note that is written once its pieces are in the home.
  struct Attachment {
    var note: Int
    var text: Int64
    var waiting: [OrderID]
    var hashes: [ChunkHash] = []
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

  func attach(_ pieces: [Int], to note: Int, text: Int64) {
    let orders = pieces.map { _ in nextOrderID() }
    hands.attachments.append(
      PieceHands.Attachment(note: note, text: text, waiting: orders))
    for (order, piece) in zip(orders, pieces) {
      self.order(.addPiece(order, DeviceMachine.pieceBytes(piece)))
    }
  }

  func pieceAdded(_ order: OrderID, _ result: Result<ChunkHash, PieceFailure>) {
    guard
      let index = hands.attachments.firstIndex(where: { $0.waiting.contains(order) })
    else { return }
    outside.log(from: name, to: "person", .note("piece kept: \(result)"))
    // Who cannot keep the file writes no note of it.
    guard case .success(let hash) = result else {
      hands.attachments.remove(at: index)
      return
    }
    hands.attachments[index].waiting.removeAll { $0 == order }
    hands.attachments[index].hashes.append(hash)
    guard hands.attachments[index].waiting.isEmpty else { return }
    let done = hands.attachments.remove(at: index)
    // Not within what the agent does just now.
    outside.timeline.after(0) { [weak self] in
      guard let self, isRunning else { return }
      self.order(
        .edit(nextOrderID(), NotesApp.edit(done.note, text: done.text, pieces: done.hashes)))
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
      hands.readings.append(PieceHands.Reading(order: order, hash: hash))
      self.order(.readPiece(order, hash, offset: 0, count: .max))
    }
  }

  /// What is told as a whole piece has the bytes of its hash.
  func pieceRead(_ order: OrderID, _ result: Result<PiecePortion, PieceFailure>) {
    guard let index = hands.readings.firstIndex(where: { $0.order == order }) else { return }
    switch result {
    case .success(let portion):
      if portion.offset != hands.readings[index].bytes.count {
        outside.fault("\(name) reads a piece out of order")
      }
      hands.readings[index].bytes += portion.bytes
      guard portion.isLast else { return }
      let whole = hands.readings.remove(at: index)
      if SHA256.hash(whole.bytes) != whole.hash.bytes {
        outside.fault("\(name) shows a piece with other bytes than its name says")
      }
    case .failure(let failure):
      hands.readings.remove(at: index)
      outside.log(from: name, to: "person", .note("piece not read: \(failure)"))
      if failure == .damaged { outside.fault("\(name) finds a piece damaged that nobody touched") }
    }
  }
}
