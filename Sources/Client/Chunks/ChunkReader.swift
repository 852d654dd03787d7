import LockstepCrypto
import LockstepModel
import LockstepStorage

/// Read orders for chunks of files: from the home, or from the relay first. A pure state machine:
/// its methods take events, and `next` returns actions until there are none. Uses no files and no
/// sockets.
///
/// One portion is read at a time, in the order of the orders; orders that wait for the relay are
/// skipped.
struct ChunkReader {
  enum Action: Hashable {
    /// Answered by `found`.
    case find(OrderID, ChunkHash)
    /// Answered by `read`.
    case read(OrderID, HeldChunk, offset: Int, count: Int)
    /// Answered by `downloaded`.
    case download(ChunkHash)
    /// The chunk's file is missing or damaged.
    case drop(HeldChunk)
    case report(OrderID, Result<ChunkPortion, ChunkFailure>)
  }

  private struct Order {
    let id: OrderID
    let hash: ChunkHash
    /// Offset of the next portion.
    var offset: Int
    /// End offset of the order, unless the chunk ends before.
    let end: Int
    var stage = Stage.waiting
    /// Digest of all bytes so far, if the whole chunk is read.
    var digest: SHA256?
    var isBegun = false
    /// Number of a file that was missing: another file may hold the chunk by now.
    var lostFile: UInt64?
  }

  private enum Stage {
    /// → finding, or given up
    case waiting
    /// → reading, downloading
    case finding
    /// → waiting, or given up
    case downloading
    /// A portion is being read, or may be. → waiting, downloading, given up, or complete
    case reading(HeldChunk)
  }

  private var orders: [Order] = []
  private var pending: [Action] = []
  /// True while a job for one of the orders is running.
  private var isBusy = false

  var isEmpty: Bool { orders.isEmpty && pending.isEmpty }

  /// True if an order waits for the chunk.
  func awaits(_ hash: ChunkHash) -> Bool { orders.contains { $0.hash == hash } }

  // MARK: events

  mutating func addOrder(_ id: OrderID, _ hash: ChunkHash, offset: Int, count: Int) {
    guard orders.count < Limits.chunkReads else {
      return pending.append(.report(id, .failure(.busy)))
    }
    let first = max(0, offset)
    let (end, overflow) = first.addingReportingOverflow(max(0, count))
    orders.append(Order(id: id, hash: hash, offset: first, end: overflow ? .max : end))
  }

  /// Handles the result of the search in the home; nil if the chunk is not there.
  mutating func found(_ id: OrderID, _ result: Result<HeldChunk?, ChunkFailure>) {
    isBusy = false
    guard let index = orders.firstIndex(where: { $0.id == id }) else { return }
    switch result {
    case .success(let chunk?):
      if orders[index].lostFile == chunk.file { return dropFile(chunk, index) }
      if !orders[index].isBegun, orders[index].offset == 0, orders[index].end >= chunk.bytes {
        orders[index].digest = SHA256()
      }
      orders[index].stage = .reading(chunk)
    case .success(nil): download(index)
    case .failure(let failure): failOrder(index, failure)
    }
  }

  mutating func read(_ id: OrderID, _ result: Result<ChunkResult, StorageError>) {
    isBusy = false
    guard let index = orders.firstIndex(where: { $0.id == id }),
      case .reading(let chunk) = orders[index].stage
    else { return }
    switch result {
    case .success(.bytes(let bytes)): deliver(bytes, of: chunk, index)
    case .success:
      orders[index].lostFile = chunk.file
      orders[index].stage = .waiting
    case .failure(let error): failOrder(index, .storage(error))
    }
  }

  /// Handles the end of a download: the chunk is in the home, or is not available.
  mutating func downloaded(_ hash: ChunkHash, _ result: Result<Void, ChunkFailure>) {
    for index in orders.indices.reversed() where orders[index].hash == hash {
      guard case .downloading = orders[index].stage else { continue }
      switch result {
      case .success: orders[index].stage = .waiting
      case .failure(let failure): failOrder(index, failure)
      }
    }
  }

  mutating func stop() {
    for order in orders { pending.append(.report(order.id, .failure(.stopping))) }
    orders = []
  }

  // MARK: actions

  mutating func next() -> Action? {
    if !pending.isEmpty { return pending.removeFirst() }
    guard !isBusy else { return nil }
    for index in orders.indices {
      let order = orders[index]
      switch order.stage {
      case .finding, .downloading: continue
      case .waiting:
        isBusy = true
        orders[index].stage = .finding
        return .find(order.id, order.hash)
      case .reading(let chunk):
        isBusy = true
        return .read(
          order.id, chunk, offset: order.offset, count: bytesWanted(of: chunk, order))
      }
    }
    return nil
  }

  private func bytesWanted(of chunk: HeldChunk, _ order: Order) -> Int {
    max(0, min(min(chunk.bytes, order.end) - order.offset, Limits.chunkPortionBytes))
  }

  private mutating func deliver(_ bytes: [UInt8], of chunk: HeldChunk, _ index: Int) {
    let order = orders[index]
    guard bytes.count == bytesWanted(of: chunk, order) else { return dropFile(chunk, index) }
    order.digest?.update(bytes)
    let end = order.offset + bytes.count
    let isLast = end >= min(chunk.bytes, order.end)
    if isLast, let digest = order.digest, digest.finish() != chunk.hash.bytes {
      return dropFile(chunk, index)
    }
    orders[index].offset = end
    orders[index].isBegun = true
    pending.append(
      .report(
        order.id, .success(ChunkPortion(offset: order.offset, bytes: bytes, isLast: isLast))))
    if isLast { orders.remove(at: index) }
  }

  /// Drops a file that is missing or damaged. If nothing of it was reported, downloads the chunk
  /// from the relay instead.
  private mutating func dropFile(_ chunk: HeldChunk, _ index: Int) {
    pending.append(.drop(chunk))
    if orders[index].isBegun { failOrder(index, .damaged) } else { download(index) }
  }

  private mutating func download(_ index: Int) {
    let hash = orders[index].hash
    let isAsked = orders.contains { order in
      if case .downloading = order.stage { order.hash == hash } else { false }
    }
    orders[index].stage = .downloading
    orders[index].digest = nil
    if !isAsked { pending.append(.download(hash)) }
  }

  private mutating func failOrder(_ index: Int, _ failure: ChunkFailure) {
    pending.append(.report(orders.remove(at: index).id, .failure(failure)))
  }
}
