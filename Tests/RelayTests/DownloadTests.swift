import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Downloads of chunks: whole or in part, as fast as the client takes them.
struct DownloadTests {
  /// Creates a relay with a chunk, and the device that uploaded it.
  private func kept(
    _ chunk: Chunk, rules: StoreRules = StoreRules(),
    _ configure: (inout RelayConfiguration) -> Void = { _ in }
  ) throws -> (TestRelay, TestDevice) {
    let relay = TestRelay.keepingChunks(rules: rules, configure)
    let device = try relay.newAccount()
    try #require(try relay.put(chunk, by: device) == 201)
    return (relay, device)
  }

  @Test func rangesAreServed() throws {
    let chunk = try Chunk(count: 1_000)
    let (relay, device) = try kept(chunk)
    for (field, range) in [
      ("bytes=0-9", 0..<10), ("bytes=990-2000", 990..<1_000), ("bytes=500-", 500..<1_000),
      ("bytes=-1", 999..<1_000),
    ] as [(String, Range<Int>)] {
      let response = try relay.get(chunk, by: device, [("Range", field)])
      #expect(response.status == 206)
      #expect(response.body == Array(chunk.bytes[range]))
      #expect(
        response.headers["Content-Range"]
          == "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000")
    }
    for field in ["bytes=0-1,5-6", "lines=1-2", "bytes=5-2"] {
      let response = try relay.get(chunk, by: device, [("Range", field)])
      #expect(response.status == 200)
      #expect(response.body == chunk.bytes)
    }
    let beyond = try relay.get(chunk, by: device, [("Range", "bytes=1000-")])
    #expect(beyond.status == 416)
    #expect(beyond.code == "rangeNotSatisfiable")
    #expect(beyond.headers["Content-Range"] == "bytes */1000")
  }

  @Test func whatAClientHoldsIsNotSentAgain() throws {
    let chunk = try Chunk("hello")
    let (relay, device) = try kept(chunk)
    let whole = try relay.get(chunk, by: device)
    let tag = try #require(whole.headers["ETag"])
    #expect(whole.headers["Cache-Control"]?.contains("private") == true)
    #expect(whole.headers["Content-Type"] == "application/octet-stream")
    #expect(whole.headers["Accept-Ranges"] == "bytes")
    let exposed = try #require(whole.headers["Access-Control-Expose-Headers"])
    for name in ["Content-Range", "Accept-Ranges", "ETag"] { #expect(exposed.contains(name)) }
    for method in ["GET", "HEAD"] {
      let held = try HTTPClient(relay).call(
        method, chunk.path, token: device.token, headers: [("If-None-Match", tag)])
      #expect(held.status == 304)
      #expect(held.body.isEmpty)
      #expect(held.headers["ETag"] == tag)
    }
    let headers = [("Range", "bytes=1-2"), ("If-Range", tag)]
    #expect(try relay.get(chunk, by: device, headers).status == 206)
    let other = [("Range", "bytes=1-2"), ("If-Range", "\"x\"")]
    #expect(try relay.get(chunk, by: device, other).status == 200)
  }

  @Test func anotherAccountsChunkIsNotThere() throws {
    let chunk = try Chunk("secret")
    let (relay, owner) = try kept(chunk)
    let stranger = try relay.newAccount()
    let unknown = try Chunk("unknown")
    for method in ["GET", "HEAD"] {
      let client = HTTPClient(relay)
      let theirs = try client.call(method, chunk.path, token: stranger.token)
      let nobodys = try client.call(method, unknown.path, token: stranger.token)
      #expect(theirs.status == 404)
      #expect(theirs.body == nobodys.body)
      #expect(theirs.headers == nobodys.headers)
    }
    #expect(try relay.missing([chunk, unknown], by: stranger) == [0, 1])
    #expect(try relay.put(chunk, by: stranger) == 201)
    #expect(relay.files.counts.whole == 2)
    #expect(try relay.get(chunk, by: owner).body == chunk.bytes)
    #expect(try HTTPClient(relay).call("GET", chunk.path).status == 401)
  }

  /// The file was removed, or lost by the disk.
  @Test func aChunkWhoseFileIsGoneIsLackingUntilItComesAgain() throws {
    let chunk = try Chunk(count: 300_000)
    let (relay, device) = try kept(chunk)
    _ = try relay.files.perform(.remove(relay.files.files))
    // The loss is not detected yet; a new upload is kept all the same.
    #expect(try relay.missing([chunk], by: device) == [])
    #expect(try relay.put(chunk, by: device) == 200)
    #expect(try relay.get(chunk, by: device).body == chunk.bytes)
    _ = try relay.files.perform(.remove(relay.files.files))
    #expect(try relay.get(chunk, by: device).status == 404)
    #expect(try relay.missing([chunk], by: device) == [0])
    let client = HTTPClient(relay)
    #expect(try client.call("HEAD", chunk.path, token: device.token).status == 404)
    #expect(try relay.put(chunk, by: device) == 201)
    #expect(try relay.missing([chunk], by: device) == [])
    #expect(try relay.get(chunk, by: device).body == chunk.bytes)
    #expect(try relay.hasNoStrayFiles())
  }

  @Test func methodsAreToldByPath() throws {
    let chunk = try Chunk("x")
    let (relay, device) = try kept(chunk)
    let client = HTTPClient(relay)
    let options = try client.call("OPTIONS", chunk.path)
    #expect(options.headers["Allow"] == "PUT, GET, HEAD, OPTIONS")
    let headers = try #require(options.headers["Access-Control-Allow-Headers"])
    for name in ["Range", "If-Range", "If-None-Match"] { #expect(headers.contains(name)) }
    let posted = try client.call("POST", chunk.path, token: device.token, "{}")
    #expect(posted.status == 405)
    #expect(posted.headers["Allow"] == "PUT, GET, HEAD, OPTIONS")
    let read = try client.call("GET", "/v1/chunks/missing", token: device.token)
    #expect(read.status == 405)
    #expect(read.headers["Allow"] == "POST, OPTIONS")
  }

  // MARK: slow clients

  @Test func aSlowClientHoldsLittleAndGetsAll() throws {
    let chunk = try Chunk(count: Limits.chunkBytes)
    let (relay, device) = try kept(chunk)
    let client = HTTPClient(relay)
    relay.setTakesBytes(client.id, false)
    for _ in 0..<2 { client.expectAnswer(to: "GET") }
    relay.send(
      client.id,
      HTTPClient.bytes("GET", chunk.path, token: device.token)
        + HTTPClient.bytes("GET", "/v1/time"))
    let bound = Limits.sendQueueBytes + Limits.chunkPortionBytes + 1_000
    while !relay.wire(client.id).waiting.isEmpty || relay.step() {
      relay.runUntilIdle()
      #expect(relay.wire(client.id).waiting.count <= bound)
      relay.takeBytes(client.id, 50_001)
    }
    #expect(try client.next()?.body == chunk.bytes)
    relay.setTakesBytes(client.id, true)
    relay.runUntilIdle()
    #expect(try client.next()?.status == 200)
  }

  @Test func whereMemoryIsShortADownloadGoesOnAPartAtATime() throws {
    let chunk = try Chunk(count: 1_000_000)
    let (former, device) = try kept(chunk)
    let relay = TestRelay(store: former.store, files: former.files.reopened()) {
      $0.limits.bodyBudgetBytes = 1_000
    }
    let clients = (0..<3).map { _ in HTTPClient(relay) }
    for client in clients {
      relay.setTakesBytes(client.id, false)
      client.send("GET", chunk.path, token: device.token)
    }
    relay.runUntilIdle()
    for client in clients {
      #expect(relay.wire(client.id).waiting.count < 2 * Limits.chunkPortionBytes + 1_000)
    }
    for client in clients {
      relay.setTakesBytes(client.id, true)
      relay.runUntilIdle()
    }
    // Only a client that came when there was no room is refused.
    let answers = try clients.map { try #require(try $0.next()) }
    #expect(answers[0].body == chunk.bytes)
    #expect(answers.allSatisfy { $0.body == chunk.bytes || $0.code == "overloaded" })
  }

  @Test func aClientMayGoAtAnyMoment() throws {
    let chunk = try Chunk(count: 500_000)
    for steps in 0..<14 {
      let (relay, device) = try kept(chunk)
      let client = HTTPClient(relay)
      client.send("GET", chunk.path, token: device.token)
      for _ in 0..<steps { _ = relay.step() }
      relay.cut(client.id)
      relay.runUntilIdle()
      #expect(relay.entries[0].node.services.transfers.downloads == 0)
      #expect(try relay.get(chunk, by: device).body == chunk.bytes)
    }
  }

  // MARK: files that fail or disappear

  @Test func aFileThatGoesMeanwhileEndsTheAnswerEarly() throws {
    let chunk = try Chunk(count: 500_000)
    for steps in 0..<14 {
      let (relay, device) = try kept(chunk)
      let client = HTTPClient(relay)
      client.send("GET", chunk.path, token: device.token)
      for _ in 0..<steps { _ = relay.step() }
      _ = try relay.files.perform(.remove(relay.files.files))
      relay.runUntilIdle()
      let bytes = relay.wire(client.id).incoming
      if let response = try client.next() {
        #expect(response.status == 404 || response.body == chunk.bytes)
        #expect(!client.isClosed)
      } else {
        #expect(client.isClosed)
        let body = bytes.suffix(
          from: try #require(bytes.firstRange(of: Array("\r\n\r\n".utf8))).upperBound)
        #expect(!body.isEmpty && chunk.bytes.starts(with: body))
      }
      #expect(relay.entries[0].node.services.transfers.downloads == 0)
    }
  }

  @Test func filesThatFailAreToldOrEndTheAnswer() throws {
    let chunk = try Chunk(count: 500_000)
    let (relay, device) = try kept(chunk)
    relay.chunkFault = .failed(path: "chunks", operation: "read the file", detail: "I/O error")
    #expect(try relay.get(chunk, by: device).code == "storeUnavailable")
    #expect(try HTTPClient(relay).call("GET", "/readyz").status == 200)
    relay.chunkFault = nil
    let client = HTTPClient(relay)
    client.send("GET", chunk.path, token: device.token)
    while relay.wire(client.id).incoming.isEmpty { _ = relay.step() }
    relay.chunkFault = .failed(path: "chunks", operation: "read the file", detail: "I/O error")
    relay.runUntilIdle()
    #expect(client.isClosed)
    #expect(try client.next() == nil)
  }

  @Test func aFileThatHasBecomeShorterIsNotToldAsWhole() throws {
    let chunk = try Chunk("hello")
    let (relay, device) = try kept(chunk)
    let request = CommitRequest.addChunk(
      device.credentials.account, try Chunk("other").hash,
      try #require(relay.files.files.first), bytes: 9)
    _ = try relay.store.commit([request], wall: relay.moment.wall)
    let client = HTTPClient(relay)
    client.send("GET", try Chunk("other").path, token: device.token)
    relay.runUntilIdle()
    #expect(try client.next() == nil)
    #expect(client.isClosed)
  }

  // MARK: end

  @Test func aRevokedDevicesDownloadEnds() throws {
    let chunk = try Chunk(count: 500_000)
    let (relay, first) = try kept(chunk)
    let lost = try relay.newDevice(beside: first)
    let client = HTTPClient(relay)
    client.send("GET", chunk.path, token: lost.token)
    while relay.wire(client.id).incoming.isEmpty { _ = relay.step() }
    let path = "/v1/devices/\(lost.credentials.device.text)"
    let jobs = relay.fileJobs
    relay.fileJobs = []
    #expect(try HTTPClient(relay).call("DELETE", path, token: first.token).status == 204)
    #expect(client.isClosed)
    relay.fileJobs = jobs
    relay.runUntilIdle()
    #expect(try client.next() == nil)
    #expect(relay.entries[0].node.services.transfers.downloads == 0)
  }

  @Test func aBegunDownloadIsFinishedWhileTheRelayStops() throws {
    let chunk = try Chunk(count: 500_000)
    let (relay, device) = try kept(chunk)
    let client = HTTPClient(relay)
    client.send("GET", chunk.path, token: device.token)
    while relay.wire(client.id).incoming.isEmpty { _ = relay.step() }
    relay.deliver(0, .stopping)
    relay.runUntilIdle()
    #expect(try client.next()?.body == chunk.bytes)
    #expect(client.isClosed)
    #expect(relay.reports.last == .stopped)
  }
}
