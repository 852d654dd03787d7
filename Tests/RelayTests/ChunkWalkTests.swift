import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Uploads and downloads of chunks on two nodes, while clients leave, stores fail, leases end and
/// the process dies, in any order. An answered upload exists, a chunk that a record references
/// stays, no client gets other bytes, and at the end there is no file without an owner.
struct ChunkWalkTests {
  @Test(arguments: 0..<8)
  func chunksAreWholeOrNotThere(block: Int) throws {
    var (uploaded, downloaded) = (0, 0)
    for seed in UInt64(block * 5)..<UInt64(block * 5 + 5) {
      var walk = try ChunkWalk(seed: seed)
      for _ in 0..<400 { try walk.step() }
      try walk.end()
      #expect(walk.breaches.isEmpty, "seed \(seed): \(walk.breaches.prefix(1))")
      if !walk.breaches.isEmpty { return }
      uploaded += walk.uploaded
      downloaded += walk.downloaded
    }
    #expect(uploaded > 10 && downloaded > 5, "the walks were about nothing")
  }
}

/// One run from a seed.
private struct ChunkWalk {
  /// A client with a call under way.
  struct PendingRequest {
    enum Kind {
      case upload
      case download(Range<Int>)
    }

    var client: HTTPClient
    var chunk: Int
    var kind: Kind
    /// Bytes of the request that are not sent yet.
    var rest: [UInt8]
  }

  let chunks: [Chunk]
  let device: TestDevice
  var relay: TestRelay
  var random: SeededRandom
  var pendingRequests: [PendingRequest] = []
  /// By chunk: the time until which it was promised to exist; and if a record references it.
  var promised: [Int64]
  var named: [Bool]
  var saves = 0
  var uploaded = 0
  var downloaded = 0
  var breaches: [String] = []

  private static let lease: Int64 = 120_000

  init(seed: UInt64) throws {
    random = SeededRandom(seed: seed)
    let sizes = [0, 1, 1_000, Limits.chunkPortionBytes, 300_000, 700_000]
    chunks = try sizes.enumerated().map { try Chunk(count: $1, seed: UInt64($0)) }
    promised = chunks.map { _ in 0 }
    named = chunks.map { _ in false }
    var rules = StoreRules()
    rules.chunkLeaseMilliseconds = ChunkWalk.lease
    relay = TestRelay.keepingChunks(nodes: 2, rules: rules)
    device = try relay.newAccount()
  }

  mutating func step() throws {
    relay.moment.instant = relay.moment.instant.advanced(milliseconds: 1)
    relay.moment.wall += 1
    for node in 0...1 { relay.deliver(node, .deadlineReached) }
    let node = Int.random(in: 0...1, using: &random)
    switch Int.random(in: 0..<40, using: &random) {
    case 0, 1: if pendingRequests.count < 6 { begin(upload: true, node) }
    case 2: if pendingRequests.count < 6 { begin(upload: false, node) }
    case 3...9: sendSome()
    case 10: leave()
    case 11...16: _ = relay.runFileJob()
    case 17...20: _ = relay.deliverFileEvent(node)
    case 21...23:
      if !relay.commits.isEmpty {
        relay.runCommits(Int.random(in: 1...relay.commits.count, using: &random))
      }
    case 24...26: _ = relay.deliverCommitEvent(node)
    case 27...29: _ = relay.runRead(node)
    case 30, 31: _ = relay.deliverRead(node)
    case 32: relay.chunkFault = failing()
    case 33: relay.commitFault = failing()
    case 34: (relay.chunkFault, relay.commitFault) = (nil, nil)
    case 35: try save()
    case 36: relay.advance(Int64.random(in: 1...ChunkWalk.lease / 2, using: &random))
    case 37: try ask()
    case 38: if Int.random(in: 0..<6, using: &random) == 0 { try crash() }
    default: relay.runUntilIdle()
    }
    try collect()
  }

  /// Removes all faults, ends all calls, and checks everything.
  mutating func end() throws {
    (relay.chunkFault, relay.commitFault) = (nil, nil)
    for index in pendingRequests.indices {
      relay.send(pendingRequests[index].client.id, pendingRequests[index].rest)
      pendingRequests[index].rest = []
    }
    relay.runUntilIdle()
    try collect()
    if !pendingRequests.isEmpty { breach("\(pendingRequests.count) calls were not answered") }
    try look()
    // The next commit of a node removes what a failed one left.
    for node in 0...1 { try save(node: node) }
    relay.runUntilIdle()
    if !(try relay.hasNoStrayFiles()) { breach("files without an owner are left") }
    relay.advance(2 * ChunkWalk.lease)
    try look()
    let kept = named.count { $0 }
    if relay.files.counts.whole != kept { breach("\(relay.files.counts) files for \(kept) chunks") }
  }

  // MARK: events

  private mutating func begin(upload: Bool, _ node: Int) {
    let index = Int.random(in: 0..<chunks.count, using: &random)
    let chunk = chunks[index]
    let client = HTTPClient(relay, node: node)
    client.expectAnswer(to: upload ? "PUT" : "GET")
    if upload {
      let request = chunk.upload(device.token)
      pendingRequests.append(
        PendingRequest(client: client, chunk: index, kind: .upload, rest: request))
    } else {
      let first = Int.random(in: 0...max(0, chunk.bytes.count - 1), using: &random)
      let request = HTTPClient.bytes(
        "GET", chunk.path, token: device.token, headers: [("Range", "bytes=\(first)-")])
      pendingRequests.append(
        PendingRequest(
          client: client, chunk: index, kind: .download(first..<chunk.bytes.count), rest: request))
    }
  }

  private mutating func sendSome() {
    guard let index = pendingRequests.indices.randomElement(using: &random) else { return }
    let most = pendingRequests[index].rest.count
    let count = min(most, Int.random(in: 1...400_000, using: &random))
    relay.send(pendingRequests[index].client.id, Array(pendingRequests[index].rest.prefix(count)))
    pendingRequests[index].rest.removeFirst(count)
  }

  private mutating func leave() {
    guard let index = pendingRequests.indices.randomElement(using: &random) else { return }
    relay.cut(pendingRequests.remove(at: index).client.id)
  }

  private mutating func failing() -> StorageError? {
    Bool.random(using: &random) ? .diskFull(path: "store") : nil
  }

  /// Saves a record that references a chunk, or one that does not any more.
  private mutating func save(node: Int = 0) throws {
    relay.runUntilIdle()
    let index = Int.random(in: 0..<chunks.count, using: &random)
    saves += 1
    let isNaming = Bool.random(using: &random)
    let hashes = isNaming ? "\"\(chunks[index].hash.text)\"" : ""
    let body =
      #"{"id":"\#(batch(saves).text)","records":[{"name":"r\#(index)","type":"t","fields":{},"#
      + #""modifiedAt":1,"baseTag":"any","chunks":[\#(hashes)]}]}"#
    let response = try HTTPClient(relay, node: node).call(
      "POST", "/v1/zones/z/records", token: device.token, body)
    guard response.status == 200 else { return }
    let isSaved = response.json?["results"]?.array?.first?["tag"] != nil
    if isNaming, !isSaved, mustBeThere(index) { breach("chunk \(index) is missing for a save") }
    guard isSaved else { return }
    if named[index] && !isNaming { promised[index] = relay.moment.wall + ChunkWalk.lease }
    named[index] = isNaming
  }

  private mutating func ask() throws {
    relay.runUntilIdle()
    let before = relay.moment.wall
    guard relay.commitFault == nil else { return }
    let missing = try relay.missing(chunks, by: device)
    for index in chunks.indices {
      if !missing.contains(index) {
        promised[index] = before + ChunkWalk.lease
      } else if mustBeThere(index) {
        breach("chunk \(index) is missing")
      }
    }
  }

  /// Kills the process, and starts another one on the same disk.
  private mutating func crash() throws {
    pendingRequests = []
    let former = relay
    relay = TestRelay(
      nodes: 2, seed: random.next(), store: former.store, files: former.files.reopened()
    ) {
      $0.isOpen = true
    }
    relay.moment = former.moment
    relay.runUntilIdle()
    if !(try relay.hasNoStrayFiles()) { breach("a crash left files without an owner") }
    try look()
  }

  // MARK: invariants

  private func mustBeThere(_ index: Int) -> Bool {
    named[index] || promised[index] > relay.moment.wall
  }

  private mutating func breach(_ text: String) { breaches.append(text) }

  private mutating func look() throws {
    for index in chunks.indices where mustBeThere(index) {
      let found = try relay.get(chunks[index], by: device)
      if found.status != 200 || found.body != chunks[index].bytes {
        breach("chunk \(index) cannot be read: \(found.status)")
      }
    }
  }

  /// Reads the answers that have arrived.
  private mutating func collect() throws {
    for index in pendingRequests.indices.reversed() {
      let pendingRequest = pendingRequests[index]
      guard let response = try pendingRequest.client.next() else {
        if pendingRequest.client.isClosed { pendingRequests.remove(at: index) }
        continue
      }
      pendingRequests.remove(at: index)
      switch (pendingRequest.kind, response.status) {
      case (.upload, 200), (.upload, 201):
        uploaded += 1
        // It existed at the time of the commit, which may be a while ago.
        promised[pendingRequest.chunk] = max(promised[pendingRequest.chunk], relay.moment.wall)
        if !pendingRequest.rest.isEmpty { breach("an upload was answered before it ended") }
      case (.download(let range), 206), (.download(let range), 200):
        downloaded += 1
        if response.body != Array(chunks[pendingRequest.chunk].bytes[range]) {
          breach("chunk \(pendingRequest.chunk) came down as something else")
        }
      case (_, 404), (_, 503), (_, 408), (.download, 416): break
      case (_, let status): breach("an answer \(status)")
      }
    }
  }
}
