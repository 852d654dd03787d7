import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Ends of uploads other than their last byte: clients that leave, stores that fail, timeouts,
/// relays that stop. No file is ever left over.
struct UploadEndTests {
  private let fault = StorageError.diskFull(path: "chunks")

  /// Every step that the relay takes for an upload may be the last one before its client leaves.
  @Test func aClientMayGoAtAnyMoment() throws {
    var outcomes: Set<Int> = []
    for steps in 0..<30 {
      for bytes in [0, 100, 200_000, 400_000] {
        let relay = TestRelay.keepingChunks()
        let device = try relay.newAccount()
        let chunk = try Chunk(count: 400_000)
        let client = HTTPClient(relay)
        let request = chunk.upload(device.token)
        let head = request.count - chunk.bytes.count
        relay.send(client.id, Array(request.prefix(head + bytes)))
        for _ in 0..<steps { _ = relay.step() }
        relay.cut(client.id)
        relay.runUntilIdle()
        #expect(try relay.hasNoStrayFiles())
        #expect(relay.entries[0].node.services.transfers.uploads == 0)
        #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
        if bytes == 400_000 { outcomes.insert(relay.files.counts.whole) }
        // If all bytes had arrived, the chunk may have been kept: it exists, or it does not.
        let isKept = relay.files.counts.whole == 1
        #expect(try relay.put(chunk, by: device) == (isKept ? 200 : 201))
      }
    }
    #expect(outcomes == [0, 1])
  }

  @Test func theSameBytesTwiceAtOnceAreOneChunk() throws {
    let relay = TestRelay.keepingChunks(nodes: 2)
    let device = try relay.newAccount()
    let chunk = try Chunk(count: 200_000)
    let clients = [HTTPClient(relay, node: 0), HTTPClient(relay, node: 1)]
    for client in clients {
      client.expectAnswer(to: "PUT")
      relay.send(client.id, chunk.upload(device.token))
    }
    relay.runUntilIdle()
    #expect(try clients.map { try $0.next()?.status } == [201, 200])
    #expect(relay.files.counts == (1, 0))
    #expect(try relay.hasNoStrayFiles())
  }

  @Test func whereFilesFailTheUploadIsRefusedAndTheRelayGoesOn() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: 300_000)
    let client = HTTPClient(relay)
    relay.chunkFault = fault
    for _ in 0..<2 {
      for _ in 0..<2 { client.expectAnswer(to: "PUT") }
      relay.send(client.id, chunk.upload(device.token) + HTTPClient.bytes("GET", "/readyz"))
      relay.runUntilIdle()
      let refused = try #require(try client.next())
      #expect(refused.status == 503)
      #expect(refused.code == "storeUnavailable")
      #expect(refused.headers["Retry-After"] != nil)
      #expect(try client.next()?.status == 200)
    }
    relay.chunkFault = nil
    #expect(try relay.put(chunk, by: device) == 201)
    #expect(
      relay.reports.filter { $0 == .storeFailed(fault) || $0 == .storeRecovered }
        == [.storeFailed(fault), .storeRecovered])
    #expect(try relay.hasNoStrayFiles())
  }

  /// A failed commit may become durable with a crash as long as none has followed it. Until then
  /// the file stays, so that the chunk would be complete.
  @Test func whereTheCommitFailsTheFileGoesWithTheNextOne() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk("abc")
    relay.commitFault = fault
    #expect(try relay.put(chunk, by: device) == 503)
    #expect(relay.files.counts == (1, 0))
    relay.commitFault = nil
    let saved = try HTTPClient(relay).call(
      "POST", "/v1/zones/z/records", token: device.token, saveBody("r", id: batch(1)))
    #expect(saved.status == 200)
    #expect(relay.files.counts == (0, 0))
    #expect(try relay.missing([chunk], by: device) == [0])
    #expect(try relay.put(chunk, by: device) == 201)
  }

  @Test func whereTooMuchIsAskedTheUploadIsRefusedAndItsFileGoesLater() throws {
    let relay = TestRelay.keepingChunks { $0.limits.storeRequests = 1 }
    let device = try relay.newAccount()
    relay.advance(2_000)
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: device.token)
    let saver = HTTPClient(relay)
    _ = try saver.call("GET", "/v1/devices", token: device.token)
    let chunk = try Chunk("abc")
    client.expectAnswer(to: "PUT")
    relay.send(client.id, Array(chunk.upload(device.token).dropLast()))
    relay.runUntilIdle()
    saver.send(
      "POST", "/v1/zones/z/records", token: device.token, Array(saveBody("r", id: batch(1)).utf8))
    relay.send(client.id, Array("c".utf8))
    #expect(try client.next()?.code == "overloaded")
    #expect(relay.files.counts == (0, 1))
    relay.runUntilIdle()
    #expect(try saver.next()?.status == 200)
    #expect(relay.files.counts == (0, 0))
  }

  // MARK: timeouts

  @Test func anUploadMayTakeLongAsLongAsItGoesOn() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: 4 * Limits.chunkPortionBytes)
    let client = HTTPClient(relay)
    client.expectAnswer(to: "PUT")
    let request = chunk.upload(device.token)
    let head = request.count - chunk.bytes.count
    relay.send(client.id, Array(request.prefix(head)))
    relay.runUntilIdle()
    for part in 0..<3 {
      relay.advance(Limits.requestMilliseconds - 1)
      let start = head + part * Limits.chunkPortionBytes
      relay.send(client.id, Array(request[start..<start + Limits.chunkPortionBytes]))
      relay.runUntilIdle()
    }
    #expect(!client.isClosed)
    // A single byte from time to time is not enough.
    relay.advance(Limits.requestMilliseconds - 1)
    relay.send(client.id, [0])
    relay.advance(1)
    #expect(try client.next()?.code == "requestTimeout")
    #expect(client.isClosed)
    relay.runUntilIdle()
    #expect(relay.files.counts == (0, 0))
  }

  @Test func aSlowDiskIsNotTheClientsFault() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: Limits.chunkBytes)
    let client = HTTPClient(relay)
    _ = try client.call("GET", "/v1/devices", token: device.token)
    client.expectAnswer(to: "PUT")
    relay.send(client.id, chunk.upload(device.token))
    let jobs = relay.fileJobs
    relay.fileJobs = []
    relay.advance(3 * Limits.requestMilliseconds)
    relay.fileJobs = jobs
    relay.runUntilIdle()
    #expect(try client.next()?.status == 201)
  }

  // MARK: devices and plans

  @Test func aRevokedDevicesUploadEnds() throws {
    let relay = TestRelay.keepingChunks()
    let first = try relay.newAccount()
    let lost = try relay.newDevice(beside: first)
    let client = HTTPClient(relay)
    client.expectAnswer(to: "PUT")
    relay.send(client.id, Array(try Chunk(count: 200_000).upload(lost.token).dropLast()))
    relay.runUntilIdle()
    #expect(relay.files.counts == (0, 1))
    let path = "/v1/devices/\(lost.credentials.device.text)"
    #expect(try HTTPClient(relay).call("DELETE", path, token: first.token).status == 204)
    #expect(try client.next()?.status == 401)
    #expect(client.isClosed)
    #expect(relay.files.counts == (0, 0))
  }

  @Test func withoutAnyZoneNothingIsUploaded() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let kept = try Chunk("kept")
    #expect(try relay.put(kept, by: device) == 201)
    let plan = CommitRequest.setPlan(device.credentials.account, Plan(zones: []))
    relay.commits.append((0, JobID(rawValue: .max), StoreCommitJob(plan, by: relay.owner)))
    relay.runUntilIdle()
    let client = HTTPClient(relay)
    for _ in 0..<2 { client.expectAnswer(to: "PUT") }
    let request = try Chunk(count: 800_000).upload(device.token)
    relay.send(client.id, request + HTTPClient.bytes("GET", "/v1/time"))
    relay.runUntilIdle()
    #expect(try client.next()?.code == "planRequired")
    #expect(try client.next()?.status == 200)
    #expect(try relay.get(kept, by: device).status == 402)
    #expect(relay.entries[0].node.services.transfers.uploads == 0)
    #expect(relay.files.counts == (1, 0))
  }

  // MARK: end

  @Test func aBegunUploadIsFinishedWhileTheRelayStops() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: 300_000)
    let client = HTTPClient(relay)
    client.expectAnswer(to: "PUT")
    let request = chunk.upload(device.token)
    relay.send(client.id, Array(request.prefix(200_000)))
    relay.runUntilIdle()
    relay.deliver(0, .stopping)
    relay.runUntilIdle()
    #expect(!relay.reports.contains(.stopped))
    let late = HTTPClient(relay)
    late.expectAnswer(to: "PUT")
    relay.send(late.id, request)
    relay.runUntilIdle()
    #expect(try late.next()?.code == "stopping")
    relay.send(client.id, Array(request.dropFirst(200_000)))
    relay.runUntilIdle()
    let answer = try #require(try client.next())
    #expect(answer.status == 201)
    #expect(!answer.keepsAlive)
    #expect(relay.reports.last == .stopped)
    #expect(try relay.hasNoStrayFiles())
  }

  @Test func anUploadThatDoesNotEndIsDroppedWithTheRelay() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    relay.send(client.id, Array(try Chunk(count: 300_000).upload(device.token).dropLast()))
    relay.runUntilIdle()
    relay.deliver(0, .stopping)
    relay.advance(Limits.drainMilliseconds)
    #expect(relay.reports.last == .stopped)
    #expect(client.isClosed)
    relay.runUntilIdle()
    #expect(relay.files.counts == (0, 0))
  }
}

extension TestRelay {
  fileprivate var owner: CommitOrigin { CommitOrigin(node: 0, connection: nil) }
}
