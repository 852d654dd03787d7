import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Uploads of chunks: in all cases the account gets the chunk completely or not at all, and no file
/// is left over.
struct UploadTests {
  private let fault = StorageError.diskFull(path: "chunks")

  @Test func anUploadedChunkIsThere() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let other = try relay.newDevice(beside: device)
    let chunk = try Chunk("hello")
    #expect(try relay.put(chunk, by: device) == 201)
    #expect(try relay.put(chunk, by: other) == 200)
    #expect(relay.files.counts.whole == 1)
    #expect(try relay.hasNoStrayFiles())
    let found = try relay.get(chunk, by: other)
    #expect(found.status == 200)
    #expect(found.body == chunk.bytes)
    let head = try HTTPClient(relay).call("HEAD", chunk.path, token: device.token)
    #expect(head.status == 200)
    #expect(head.headers["Content-Length"] == "5")
    #expect(head.headers["ETag"] == "\"\(chunk.hash.text)\"")
    let lacking = try Chunk("lacking")
    #expect(try relay.missing([lacking, chunk, try Chunk("too")], by: other) == [0, 2])
  }

  @Test func anEmptyChunkIsAChunk() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk("")
    #expect(try relay.put(chunk, by: device) == 201)
    #expect(try relay.get(chunk, by: device).body == [])
    #expect(try relay.get(chunk, by: device, [("Range", "bytes=0-")]).status == 416)
    let client = HTTPClient(relay)
    let none = try client.call("PUT", chunk.path, token: device.token, "")
    #expect(none.status == 200)
  }

  @Test func aChunkHasALength() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let path = try Chunk("x").path
    let client = HTTPClient(relay)
    let answer = try client.call("PUT", path, token: device.token)
    #expect(answer.status == 411)
    #expect(answer.code == "lengthRequired")
    #expect(try client.call("PUT", path, token: "nobody").status == 401)
    #expect(try client.call("PUT", path).status == 401)
    #expect(try relay.hasNoStrayFiles())
  }

  /// `size`: bytes sent at once.
  @Test(arguments: [1, 7, 1_000, 200_000], [false, true])
  func bytesMayComeInAnyChunks(size: Int, isChunked: Bool) throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: size == 1 ? 700 : 150_000)
    var request = chunk.upload(device.token)
    if isChunked {
      let head = HTTPClient.bytes(
        "PUT", chunk.path, token: device.token, headers: [("Transfer-Encoding", "chunked")])
      let half = chunk.bytes.count / 2
      request = head
      for part in [chunk.bytes[..<half], chunk.bytes[half...]] {
        request += Array("\(String(part.count, radix: 16))\r\n".utf8) + part + Array("\r\n".utf8)
      }
      request += Array("0\r\n\r\n".utf8)
    }
    // A request after the upload is answered after it.
    request += HTTPClient.bytes("GET", "/v1/time")
    let client = HTTPClient(relay)
    for _ in 0..<2 { client.expectAnswer(to: "GET") }
    for start in stride(from: 0, to: request.count, by: size) {
      relay.send(client.id, Array(request[start..<min(start + size, request.count)]))
      _ = relay.step()
    }
    relay.runUntilIdle()
    #expect(try client.next()?.status == 201)
    #expect(try client.next()?.status == 200)
    #expect(try relay.get(chunk, by: device).body == chunk.bytes)
  }

  @Test func otherBytesThanTheHashNamesAreRefused() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    let chunk = try Chunk("right")
    let response = try client.call("PUT", chunk.path, token: device.token, "wrong")
    #expect(response.status == 422)
    #expect(response.code == "hashMismatch")
    #expect(relay.files.counts == (0, 0))
    #expect(try client.call("PUT", chunk.path, token: device.token, "right").status == 201)
  }

  @Test(arguments: [
    "", "abc", String(repeating: "g", count: 64), String(repeating: "0", count: 65),
  ])
  func aPathThatNamesNoHashIsRefused(name: String) throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    for method in ["PUT", "GET", "HEAD"] {
      let client = HTTPClient(relay)
      let body = method == "PUT" ? String(repeating: "x", count: 300_000) : nil
      let response = try client.call(method, "/v1/chunks/\(name)", token: device.token, body)
      #expect(response.status == 400)
      #expect(!client.isClosed)
      #expect(try HTTPClient(relay).call(method, "/v1/chunks/\(name)").status == 401)
    }
    #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
  }

  // MARK: limits

  @Test func aChunkOfTheGreatestSizeIsTakenAndOneByteMoreIsNot() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: Limits.chunkBytes)
    #expect(try relay.put(chunk, by: device) == 201)
    #expect(try relay.get(chunk, by: device).body == chunk.bytes)
    let larger = try Chunk(count: Limits.chunkBytes + 1)
    let client = HTTPClient(relay)
    client.sendRaw(
      "PUT \(larger.path) HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(device.token)\r\n"
        + "Content-Length: \(larger.bytes.count)\r\n\r\n", to: "PUT")
    let refused = try #require(try client.next())
    #expect(refused.status == 413)
    #expect(refused.code == "bodyTooLarge")
    #expect(client.isClosed)
    #expect(relay.files.counts == (1, 0))
  }

  @Test func aBodyThatGrowsTooLargeIsRefusedAndGone() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let client = HTTPClient(relay)
    client.sendRaw(
      "PUT \(try Chunk("x").path) HTTP/1.1\r\nHost: r\r\nAuthorization: Bearer \(device.token)\r\n"
        + "Transfer-Encoding: chunked\r\n\r\n100000\r\n", to: "PUT")
    let mebibyte = [UInt8](repeating: 0, count: 1 << 20) + Array("\r\n100000\r\n".utf8)
    for _ in 0..<4 {
      relay.send(client.id, mebibyte)
      relay.runUntilIdle()
    }
    #expect(try client.next()?.code == "bodyTooLarge")
    #expect(client.isClosed)
    relay.runUntilIdle()
    #expect(relay.files.counts == (0, 0))
  }

  @Test func whatIsTooMuchForAnAccountIsRefused() throws {
    var rules = StoreRules()
    rules.chunkBytesPerAccount = 10
    let relay = TestRelay.keepingChunks(rules: rules)
    let device = try relay.newAccount()
    #expect(try relay.put(try Chunk("0123456789"), by: device) == 201)
    #expect(try relay.put(try Chunk("0123456789"), by: device) == 200)
    let client = HTTPClient(relay)
    let response = try client.call("PUT", try Chunk("x").path, token: device.token, "x")
    #expect(response.status == 413)
    #expect(response.code == "quotaExceeded")
    #expect(!client.isClosed)
    #expect(relay.files.counts == (1, 0))
    #expect(try relay.put(try Chunk("x"), by: try relay.newAccount()) == 201)
  }

  /// Starts `count` uploads of the chunk, each without its last byte.
  private func begin(
    _ count: Int, _ chunk: Chunk, by token: String, at relay: TestRelay
  ) -> [HTTPClient] {
    let clients = (0..<count).map { _ in HTTPClient(relay) }
    for client in clients {
      client.expectAnswer(to: "PUT")
      relay.send(client.id, Array(chunk.upload(token).dropLast()))
      relay.runUntilIdle()
    }
    return clients
  }

  @Test func onlySoManyAreTakenAtOnce() throws {
    let relay = TestRelay.keepingChunks { $0.limits.uploads = 2 }
    let device = try relay.newAccount()
    let chunk = try Chunk("abc")
    let clients = begin(3, chunk, by: device.token, at: relay)
    relay.send(clients[2].id, [UInt8(ascii: "c")])
    let refused = try #require(try clients[2].next())
    #expect(refused.status == 503)
    #expect(refused.code == "overloaded")
    #expect(refused.headers["Retry-After"] != nil)
    relay.cut(clients[0].id)
    #expect(try relay.put(chunk, by: device) == 201)
    relay.send(clients[1].id, [UInt8(ascii: "c")])
    relay.runUntilIdle()
    #expect(try clients[1].next()?.status == 200)
    #expect(try relay.hasNoStrayFiles())
  }

  @Test func oneAccountLeavesRoomForOthers() throws {
    let relay = TestRelay.keepingChunks { $0.limits.uploadsPerAccount = 2 }
    let (device, other) = (try relay.newAccount(), try relay.newAccount())
    let chunk = try Chunk("abc")
    let clients = begin(3, chunk, by: device.token, at: relay)
    relay.send(clients[2].id, [UInt8(ascii: "c")])
    let refused = try #require(try clients[2].next())
    #expect(refused.status == 503)
    #expect(refused.code == "overloaded")
    #expect(!clients[2].isClosed)
    #expect(try relay.put(chunk, by: other) == 201)
    for (client, status) in zip(clients, [201, 200]) {
      relay.send(client.id, [UInt8(ascii: "c")])
      relay.runUntilIdle()
      #expect(try client.next()?.status == status)
    }
    #expect(try relay.put(chunk, by: device) == 200)
    #expect(try relay.hasNoStrayFiles())
  }

  // MARK: back-pressure

  @Test func onlyAFewPartsOfAnUploadLieInMemory() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk(count: Limits.chunkBytes)
    let client = HTTPClient(relay)
    client.expectAnswer(to: "PUT")
    relay.send(client.id, chunk.upload(device.token))
    // The connection is not signed in yet.
    func held() -> Int { relay.entries[0].node.services.currentStatus.bodyBytes }
    #expect(held() > Limits.chunkWaitingBytes / 2)
    #expect(relay.wire(client.id).isPaused)
    while relay.entries[0].node.services.transfers.uploads > 0 {
      // A complete upload is not read beyond its end until it is answered.
      #expect(relay.wire(client.id).isPaused || held() <= Limits.chunkWaitingBytes)
      #expect(held() <= Limits.chunkWaitingBytes + Limits.receiveBytes)
      _ = relay.step()
    }
    relay.runUntilIdle()
    #expect(try client.next()?.status == 201)
    #expect(held() == 0)
    #expect(!relay.wire(client.id).isPaused)
  }

  @Test func whereMemoryIsShortUploadsWaitForTheirOwnParts() throws {
    let relay = TestRelay.keepingChunks { $0.limits.bodyBudgetBytes = 100_000 }
    let device = try relay.newAccount()
    let chunks = try (0..<3).map { try Chunk(count: 1_000_000, seed: $0) }
    let clients = chunks.map { _ in HTTPClient(relay) }
    for (chunk, client) in zip(chunks, clients) {
      _ = try client.call("GET", "/v1/devices", token: device.token)
      client.expectAnswer(to: "PUT")
      relay.send(client.id, chunk.upload(device.token))
    }
    #expect(
      relay.entries[0].node.services.currentStatus.bodyBytes <= 100_000 + 3 * 2
        * Limits.receiveBytes)
    relay.runUntilIdle()
    for (chunk, client) in zip(chunks, clients) {
      #expect(try client.next()?.status == 201)
      #expect(try relay.get(chunk, by: device).body == chunk.bytes)
    }
  }

  @Test func savesDoNotWaitForUploads() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let uploads = try (0..<5).map { try Chunk(count: 300_000, seed: $0) }.map { chunk in
      let client = HTTPClient(relay)
      client.expectAnswer(to: "PUT")
      relay.send(client.id, chunk.upload(device.token))
      return client
    }
    let saver = HTTPClient(relay)
    saver.send(
      "POST", "/v1/zones/z/records", token: device.token, Array(saveBody("r", id: batch(1)).utf8))
    // No job of the chunk store is done.
    while relay.deliverRead(0) || relay.runRead(0) {}
    #expect(!relay.fileJobs.isEmpty)
    relay.runCommits(relay.commits.count)
    while relay.deliverCommitEvent(0) {}
    #expect(try saver.next()?.status == 200)
    relay.runUntilIdle()
    for upload in uploads { #expect(try upload.next()?.status == 201) }
  }

  // MARK: 100-continue

  @Test func leaveToSendIsGivenToWhoMaySend() throws {
    let relay = TestRelay.keepingChunks()
    let device = try relay.newAccount()
    let chunk = try Chunk("abc")
    let client = HTTPClient(relay)
    let request = chunk.upload(device.token, headers: [("Expect", "100-continue")])
    client.expectAnswer(to: "PUT")
    relay.send(client.id, request.dropLast(3))
    relay.runUntilIdle()
    #expect(
      String(decoding: relay.wire(client.id).incoming, as: UTF8.self)
        == "HTTP/1.1 100 Continue\r\n\r\n")
    relay.send(client.id, chunk.bytes)
    relay.runUntilIdle()
    #expect(try client.next()?.status == 201)
    let stranger = HTTPClient(relay)
    stranger.expectAnswer(to: "PUT")
    relay.send(
      stranger.id, chunk.upload("nobody", headers: [("Expect", "100-continue")]).dropLast(3))
    relay.runUntilIdle()
    #expect(try stranger.next()?.status == 401)
    #expect(stranger.isClosed)
    #expect(relay.entries[0].node.services.transfers.uploads == 0)
  }

  @Test func whatAStrangerSendsIsPassedOver() throws {
    let relay = TestRelay.keepingChunks()
    let chunk = try Chunk(count: 900_000)
    for token in ["nobody", ""] {
      let client = HTTPClient(relay)
      for _ in 0..<2 { client.expectAnswer(to: "PUT") }
      relay.send(client.id, chunk.upload(token) + HTTPClient.bytes("GET", "/v1/time"))
      relay.runUntilIdle()
      #expect(try client.next()?.status == 401)
      #expect(try client.next()?.status == 200)
      #expect(relay.files.counts == (0, 0))
      #expect(relay.entries[0].node.services.currentStatus.bodyBytes == 0)
      #expect(relay.entries[0].node.services.transfers.uploads == 0)
    }
  }
}
