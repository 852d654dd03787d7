import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Unneeded files are removed, and no others.
struct GarbageTests {
  private let stranger = AccountID(rawValue: 77)

  private func file(_ number: UInt64) -> ChunkFile { ChunkFile(account: stranger, number: number) }

  /// Creates files of a relay that crashed, which no account references.
  private func strays(_ count: UInt64) throws -> MemoryChunkStore {
    let files = MemoryChunkStore()
    for number in 0..<count {
      _ = try files.perform(.append(file(number), [1]))
      _ = try files.perform(.finish(file(number), expecting: try Chunk([1]).hash))
    }
    return files.reopened()
  }

  @Test func whatACrashLeftIsSweptAtTheStart() throws {
    let files = try strays(600)
    let store = MemoryZoneStore()
    let create = CommitRequest.createAccount(
      stranger, generation: 1, label: "", device: nil, pairing: nil)
    _ = try store.commit([create], wall: 0)
    let known = [0, 1, 255, 256, 300, 599] as [UInt64]
    for number in known {
      let hash = try Chunk("\(number)").hash
      _ = try store.commit([.addChunk(stranger, hash, file(number), bytes: 1)], wall: 0)
    }
    let relay = TestRelay(store: store, files: files)
    #expect(relay.files.files == known.map(file))
    #expect(try relay.hasNoStrayFiles())
  }

  /// After the restore of an older store, files that are still on the disk are not requested.
  @Test func chunksWhoseFilesStandAreThereAfterARestore() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunks = try (0..<300).map { try Chunk("chunk \($0)") }
    for chunk in chunks { #expect(try relay.put(chunk, by: device) == 201) }
    let copy = relay.store.copy()
    copy.restored(opening: 5)
    let gone = try #require(relay.files.files.first)
    _ = try relay.files.perform(.remove([gone]))
    let restored = TestRelay(store: copy, files: relay.files.reopened())
    let missing = try restored.missing(chunks, by: device)
    try #require(missing.count == 1)
    #expect(try missing.map { try restored.get(chunks[$0], by: device).status } != [200])
    #expect(try restored.put(chunks[missing[0]], by: device) == 201)
    #expect(try restored.missing(chunks, by: device) == [])
    #expect(try restored.hasNoStrayFiles())
  }

  /// The sweep removes neither an upload under way nor a complete one that is not yet committed.
  @Test func whatIsUploadedDuringTheSweepStays() throws {
    for steps in 0..<25 {
      let relay = TestRelay.keepingChunks(nodes: 2, files: try strays(300), isSettled: false)
      let chunk = try Chunk(count: 300_000)
      let client = HTTPClient(relay, node: 1)
      client.send(
        "POST", "/v1/accounts",
        Array(#"{"deviceName":"A","platform":"test","appVersion":"1"}"#.utf8))
      while relay.wire(client.id).incoming.isEmpty {
        relay.runCommits(relay.commits.count)
        _ = relay.deliverCommitEvent(1)
      }
      let body = try #require(try client.next()).body
      let device = TestDevice(credentials: try JoinAnswer.decoded(body: body).credentials)
      for _ in 0..<steps { _ = relay.step() }
      #expect(try relay.put(chunk, by: device, node: 1) == 201)
      #expect(try relay.get(chunk, by: device).body == chunk.bytes)
      #expect(relay.files.counts == (1, 0))
    }
  }

  @Test func aSweepThatFailsGoesOnLater() throws {
    let relay = TestRelay.keepingChunks(files: try strays(300), isSettled: false)
    relay.readFault = .failed(path: "store", operation: "read", detail: "I/O error")
    relay.runUntilIdle()
    #expect(relay.files.counts.whole == 300)
    relay.readFault = nil
    relay.chunkFault = .failed(path: "chunks", operation: "list", detail: "I/O error")
    relay.advance(Limits.collectMilliseconds)
    relay.chunkFault = nil
    relay.advance(Limits.collectMilliseconds)
    #expect(relay.files.counts.whole == 0)
  }

  @Test func whatNobodyAsksForGoesADayLater() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunks = try ["put", "head", "missing", "get"].map { try Chunk($0) }
    for chunk in chunks { #expect(try relay.put(chunk, by: device) == 201) }
    relay.advance(Limits.chunkLeaseMilliseconds / 2)
    #expect(try relay.put(chunks[0], by: device) == 200)
    let head = try HTTPClient(relay).call("HEAD", chunks[1].path, token: device.token)
    #expect(head.status == 200)
    #expect(try relay.missing([chunks[2]], by: device) == [])
    #expect(try relay.get(chunks[3], by: device).status == 200)
    relay.advance(Limits.chunkLeaseMilliseconds / 2 + Limits.collectMilliseconds)
    #expect(relay.files.counts.whole == 3)
    #expect(try relay.get(chunks[3], by: device).status == 404)
    for chunk in chunks.dropLast() {
      #expect(try relay.get(chunk, by: device).body == chunk.bytes)
    }
    relay.advance(Limits.chunkLeaseMilliseconds)
    #expect(relay.files.counts.whole == 0)
    #expect(try relay.missing(chunks, by: device) == [0, 1, 2, 3])
  }

  @Test func manyGoInPortionsSoonAfterOneAnother() throws {
    var rules = StoreRules()
    rules.chunkLeaseMilliseconds = 1_000
    let relay = TestRelay.keepingChunks(nodes: 2, rules: rules)
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let count = 2 * Limits.collectedChunks + 3
    for number in 0..<count {
      let chunk = try Chunk("\(number)")
      client.expectAnswer(to: "PUT")
      relay.send(client.id, chunk.upload(device.token))
      relay.runUntilIdle()
      #expect(try client.next()?.status == 201)
    }
    var left: [Int] = []
    for _ in 0..<10_000 where left.last != 0 {
      relay.advance(Limits.collectPauseMilliseconds / 2)
      if left.last != relay.files.counts.whole { left.append(relay.files.counts.whole) }
    }
    #expect(left == [count, Limits.collectedChunks + 3, 3, 0])
  }

  /// The first node of a process does this; the other nodes have no timer for it.
  @Test func onlyOneNodeLooks() {
    let relay = TestRelay.keepingChunks(nodes: 3)
    #expect(relay.entries.map { $0.node.nextDeadline != nil } == [true, false, false])
    let before = relay.entries[0].node.services.currentStatus.commits
    relay.advance(5 * Limits.collectMilliseconds)
    #expect(relay.entries[0].node.services.currentStatus.commits == before + 5)
    relay.deliver(0, .stopping)
    #expect(relay.entries[0].node.nextDeadline == nil)
  }

  @Test func anAccountsFilesGoTogether() throws {
    let relay = TestRelay.keepingChunks()
    let (device, other) = (try relay.newAccount(), try relay.newAccount())
    for chunk in try ["a", "b"].map({ try Chunk($0) }) {
      #expect(try relay.put(chunk, by: device) == 201)
      #expect(try relay.put(chunk, by: other) == 201)
    }
    relay.entries[0].node.services.removeFiles(of: device.credentials.account)
    relay.deliver(0, .ordered(.reportStatus))
    relay.runUntilIdle()
    #expect(relay.files.files.map(\.account) == [other, other].map(\.credentials.account))
  }
}
