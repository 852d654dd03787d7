import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

struct DeviceChunkDownloadTests {
  private func begun() throws -> DeviceChunkDownload {
    var download = DeviceChunkDownload(try TestChunk.hash([1]), file: 7)
    #expect(download.next() == .request(first: 0))
    return download
  }

  /// Returns a response head as the parser returns it.
  private func head(_ status: Int, _ count: Int?, range: String? = nil) throws -> HTTPResponseHead {
    var text = "HTTP/1.1 \(status) Status\r\n"
    if let count { text += "Content-Length: \(count)\r\n" }
    if let range { text += "Content-Range: \(range)\r\n" }
    if status >= 400 { text += "Content-Type: application/problem+json\r\n" }
    var parser = HTTPResponseParser()
    parser.bodyLimit = Limits.chunkBytes
    parser.expectAnswer(to: "GET")
    parser.receive(Array((text + "\r\n").utf8).span.bytes)
    guard case .head(let head)? = try parser.next() else { throw TestFault("no head") }
    return head
  }

  private func actions(_ download: inout DeviceChunkDownload) -> [DeviceChunkDownload.Action] {
    var actions: [DeviceChunkDownload.Action] = []
    while let action = download.next() { actions.append(action) }
    return actions
  }

  @Test func aChunkComesPortionByPortionIntoItsFile() throws {
    var download = try begun()
    download.receiveHead(try head(200, 3))
    #expect(download.size == 3)
    download.receiveBody([1, 2])
    download.receiveBody([3])
    download.endAnswer()
    #expect(actions(&download) == [.append([1, 2]), .append([3])])
    download.bytesWritten(2, .success(.done))
    #expect(actions(&download) == [])
    download.bytesWritten(1, .success(.done))
    #expect(actions(&download) == [.finish])
    download.fileFinished(.success(.done))
    #expect(actions(&download) == [.end(nil)])
    #expect(download.received == 3)
  }

  @Test func anEmptyChunkIsAFileToo() throws {
    var download = try begun()
    download.receiveHead(try head(200, 0))
    download.endAnswer()
    #expect(actions(&download) == [.append([]), .finish])
  }

  @Test func theRestIsAskedForWhereAConnectionBroke() throws {
    var download = try begun()
    download.receiveHead(try head(200, 5))
    download.receiveBody([1, 2])
    download.connectionBroken("reset")
    #expect(actions(&download) == [.append([1, 2]), .wait(retryAfterMilliseconds: nil)])
    download.retry()
    #expect(actions(&download) == [.request(first: 2)])
    download.receiveHead(try head(206, 3, range: "bytes 2-4/5"))
    #expect(download.size == 5)
    download.receiveBody([3, 4, 5])
    download.endAnswer()
    #expect(actions(&download) == [.append([3, 4, 5])])
    download.bytesWritten(2, .success(.done))
    download.bytesWritten(3, .success(.done))
    #expect(actions(&download) == [.finish])
  }

  @Test func whatComesAgainIsPassedOver() throws {
    var download = try begun()
    download.receiveHead(try head(200, 5))
    download.receiveBody([1, 2])
    download.connectionBroken("reset")
    download.retry()
    _ = actions(&download)
    // A server without range support sends the whole chunk.
    download.receiveHead(try head(200, 5))
    download.receiveBody([1])
    download.receiveBody([2, 3])
    download.receiveBody([4, 5])
    download.endAnswer()
    #expect(actions(&download) == [.append([3]), .append([4, 5])])
  }

  @Test func anotherRangeThanTheOneAskedForBeginsAnew() throws {
    for other in [
      try head(206, 4, range: "bytes 1-4/5"), try head(206, 3), try head(416, 0),
    ] {
      var download = try begun()
      download.receiveHead(try head(200, 5))
      download.receiveBody([1, 2])
      download.connectionBroken("reset")
      download.retry()
      _ = actions(&download)
      download.receiveHead(other)
      download.endAnswer()
      #expect(actions(&download) == [.discard, .wait(retryAfterMilliseconds: nil)])
      download.retry()
      #expect(actions(&download) == [.request(first: 0)])
    }
  }

  @Test func anAnswerThatIsCutOffIsNoEnd() throws {
    var download = try begun()
    download.receiveHead(try head(200, 5))
    download.receiveBody([1, 2])
    download.endAnswer()
    #expect(actions(&download) == [.append([1, 2]), .wait(retryAfterMilliseconds: nil)])
  }

  @Test func wrongBytesAreFetchedAgainAndThenGivenUp() throws {
    var download = try begun()
    let refusal = Refusal(.hashMismatch, "wrong")
    for round in 1...Limits.chunkMismatches {
      download.receiveHead(try head(200, 1))
      download.receiveBody([9])
      download.endAnswer()
      download.bytesWritten(1, .success(.done))
      _ = actions(&download)
      download.fileFinished(.success(.refused(refusal)))
      guard round < Limits.chunkMismatches else { break }
      #expect(actions(&download) == [.wait(retryAfterMilliseconds: nil)])
      download.retry()
      #expect(actions(&download) == [.request(first: 0)])
    }
    #expect(actions(&download) == [.end(.refused(refusal))])
  }

  @Test func triesThatBringNothingAreCounted() throws {
    var download = try begun()
    for _ in 1..<Limits.chunkTries {
      download.connectionBroken("refused")
      #expect(actions(&download) == [.wait(retryAfterMilliseconds: nil)])
      download.retry()
      _ = actions(&download)
    }
    // One byte resets the count of failures.
    download.receiveHead(try head(200, 5))
    download.receiveBody([1])
    download.connectionBroken("reset")
    #expect(actions(&download) == [.append([1]), .wait(retryAfterMilliseconds: nil)])
    for _ in 2...Limits.chunkTries {
      download.retry()
      _ = actions(&download)
      download.connectionBroken("refused")
    }
    #expect(actions(&download) == [.discard, .end(.unreachable(reason: "refused"))])
  }

  @Test func whatTheRelaySaysIsTold() throws {
    var download = try begun()
    download.receiveHead(try head(404, nil))
    download.receiveBody(Refusal(.notFound, "nothing").encodedProblem())
    download.endAnswer()
    #expect(actions(&download) == [.discard, .end(.unavailable)])
    download = try begun()
    let plan = Refusal(.planRequired, "pay")
    download.receiveHead(try head(402, nil))
    download.receiveBody(plan.encodedProblem())
    download.endAnswer()
    #expect(actions(&download) == [.discard, .end(.refused(plan))])
    download = try begun()
    let busy = Refusal(.overloaded, "busy", retryAfterMilliseconds: 3_000)
    download.receiveHead(try head(503, nil))
    download.receiveBody(busy.encodedProblem())
    download.endAnswer()
    guard case .wait = actions(&download).last else {
      Issue.record("it is not tried again")
      return
    }
  }

  @Test(arguments: [401, 403, 404, 413]) func aStrangersAnswerIsTriedAgain(_ status: Int) throws {
    var download = try begun()
    download.receiveHead(try head(status, nil))
    download.receiveBody(Array("<html>Please log in".utf8))
    download.endAnswer()
    #expect(actions(&download).last == .wait(retryAfterMilliseconds: nil))
  }

  @Test func aSlowDiskHoldsTheRelayBack() throws {
    var download = try begun()
    download.receiveHead(try head(200, Limits.chunkBytes))
    let portion = [UInt8](repeating: 1, count: Limits.chunkPortionBytes)
    var count = 0
    while !actions(&download).contains(.pause) {
      download.receiveBody(portion)
      count += 1
    }
    #expect(count == Limits.chunkWaitingBytes / Limits.chunkPortionBytes + 1)
    var written = 0
    while !actions(&download).contains(.resume) {
      download.bytesWritten(portion.count, .success(.done))
      written += 1
    }
    #expect(written == 3)
  }

  @Test func moreChunksThanThereAreBytesForAreRefused() throws {
    var download = try begun()
    download.receiveHead(try head(200, nil))
    download.receiveBody([UInt8](repeating: 1, count: Limits.chunkBytes))
    download.receiveBody([1])
    guard case .end(.refused(let refusal)) = actions(&download).last else {
      Issue.record("it is taken")
      return
    }
    #expect(refusal.code == .bodyTooLarge)
  }

  @Test func aDiskThatFailsEndsIt() throws {
    var download = try begun()
    download.receiveHead(try head(200, 5))
    download.receiveBody([1])
    _ = actions(&download)
    let full = StorageError.diskFull(path: "p")
    download.bytesWritten(1, .failure(full))
    #expect(actions(&download) == [.discard, .end(.storage(full))])
  }
}
