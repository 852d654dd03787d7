import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepClient

struct DeviceChunkDownloadTests {
  private func begun() throws -> DeviceChunkDownload {
    var download = DeviceChunkDownload(try TestChunk.hash([1]), file: 7)
    #expect(download.next() == .ask(first: 0))
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
    download.head(try head(200, 3))
    #expect(download.size == 3)
    download.body([1, 2])
    download.body([3])
    download.end()
    #expect(actions(&download) == [.append([1, 2]), .append([3])])
    download.wrote(2, .success(.done))
    #expect(actions(&download) == [])
    download.wrote(1, .success(.done))
    #expect(actions(&download) == [.finish])
    download.finished(.success(.done))
    #expect(actions(&download) == [.end(nil)])
    #expect(download.received == 3)
  }

  @Test func anEmptyChunkIsAFileToo() throws {
    var download = try begun()
    download.head(try head(200, 0))
    download.end()
    #expect(actions(&download) == [.append([]), .finish])
  }

  @Test func theRestIsAskedForWhereAConnectionBroke() throws {
    var download = try begun()
    download.head(try head(200, 5))
    download.body([1, 2])
    download.broken("reset")
    #expect(actions(&download) == [.append([1, 2]), .wait(retryAfterMilliseconds: nil)])
    download.tryAgain()
    #expect(actions(&download) == [.ask(first: 2)])
    download.head(try head(206, 3, range: "bytes 2-4/5"))
    #expect(download.size == 5)
    download.body([3, 4, 5])
    download.end()
    #expect(actions(&download) == [.append([3, 4, 5])])
    download.wrote(2, .success(.done))
    download.wrote(3, .success(.done))
    #expect(actions(&download) == [.finish])
  }

  @Test func whatComesAgainIsPassedOver() throws {
    var download = try begun()
    download.head(try head(200, 5))
    download.body([1, 2])
    download.broken("reset")
    download.tryAgain()
    _ = actions(&download)
    // A server without range support sends the whole chunk.
    download.head(try head(200, 5))
    download.body([1])
    download.body([2, 3])
    download.body([4, 5])
    download.end()
    #expect(actions(&download) == [.append([3]), .append([4, 5])])
  }

  @Test func anotherRangeThanTheOneAskedForBeginsAnew() throws {
    for other in [
      try head(206, 4, range: "bytes 1-4/5"), try head(206, 3), try head(416, 0),
    ] {
      var download = try begun()
      download.head(try head(200, 5))
      download.body([1, 2])
      download.broken("reset")
      download.tryAgain()
      _ = actions(&download)
      download.head(other)
      download.end()
      #expect(actions(&download) == [.discard, .wait(retryAfterMilliseconds: nil)])
      download.tryAgain()
      #expect(actions(&download) == [.ask(first: 0)])
    }
  }

  @Test func anAnswerThatIsCutOffIsNoEnd() throws {
    var download = try begun()
    download.head(try head(200, 5))
    download.body([1, 2])
    download.end()
    #expect(actions(&download) == [.append([1, 2]), .wait(retryAfterMilliseconds: nil)])
  }

  @Test func wrongBytesAreFetchedAgainAndThenGivenUp() throws {
    var download = try begun()
    let refusal = Refusal(.hashMismatch, "wrong")
    for round in 1...Limits.chunkMismatches {
      download.head(try head(200, 1))
      download.body([9])
      download.end()
      download.wrote(1, .success(.done))
      _ = actions(&download)
      download.finished(.success(.refused(refusal)))
      guard round < Limits.chunkMismatches else { break }
      #expect(actions(&download) == [.wait(retryAfterMilliseconds: nil)])
      download.tryAgain()
      #expect(actions(&download) == [.ask(first: 0)])
    }
    #expect(actions(&download) == [.end(.refused(refusal))])
  }

  @Test func triesThatBringNothingAreCounted() throws {
    var download = try begun()
    for _ in 1..<Limits.chunkTries {
      download.broken("refused")
      #expect(actions(&download) == [.wait(retryAfterMilliseconds: nil)])
      download.tryAgain()
      _ = actions(&download)
    }
    // One byte resets the count of failures.
    download.head(try head(200, 5))
    download.body([1])
    download.broken("reset")
    #expect(actions(&download) == [.append([1]), .wait(retryAfterMilliseconds: nil)])
    for _ in 2...Limits.chunkTries {
      download.tryAgain()
      _ = actions(&download)
      download.broken("refused")
    }
    #expect(actions(&download) == [.discard, .end(.unreachable(reason: "refused"))])
  }

  @Test func whatTheRelaySaysIsTold() throws {
    var download = try begun()
    download.head(try head(404, nil))
    download.body(Refusal(.notFound, "nothing").encodedProblem())
    download.end()
    #expect(actions(&download) == [.discard, .end(.nowhere)])
    download = try begun()
    let plan = Refusal(.planRequired, "pay")
    download.head(try head(402, nil))
    download.body(plan.encodedProblem())
    download.end()
    #expect(actions(&download) == [.discard, .end(.refused(plan))])
    download = try begun()
    let busy = Refusal(.overloaded, "busy", retryAfterMilliseconds: 3_000)
    download.head(try head(503, nil))
    download.body(busy.encodedProblem())
    download.end()
    guard case .wait = actions(&download).last else {
      Issue.record("it is not tried again")
      return
    }
  }

  @Test(arguments: [401, 403, 404, 413]) func aStrangersAnswerIsTriedAgain(_ status: Int) throws {
    var download = try begun()
    download.head(try head(status, nil))
    download.body(Array("<html>Please log in".utf8))
    download.end()
    #expect(actions(&download).last == .wait(retryAfterMilliseconds: nil))
  }

  @Test func aSlowDiskHoldsTheRelayBack() throws {
    var download = try begun()
    download.head(try head(200, Limits.chunkBytes))
    let portion = [UInt8](repeating: 1, count: Limits.chunkPortionBytes)
    var count = 0
    while !actions(&download).contains(.pause) {
      download.body(portion)
      count += 1
    }
    #expect(count == Limits.chunkWaitingBytes / Limits.chunkPortionBytes + 1)
    var written = 0
    while !actions(&download).contains(.resume) {
      download.wrote(portion.count, .success(.done))
      written += 1
    }
    #expect(written == 3)
  }

  @Test func moreChunksThanThereAreBytesForAreRefused() throws {
    var download = try begun()
    download.head(try head(200, nil))
    download.body([UInt8](repeating: 1, count: Limits.chunkBytes))
    download.body([1])
    guard case .end(.refused(let refusal)) = actions(&download).last else {
      Issue.record("it is taken")
      return
    }
    #expect(refusal.code == .bodyTooLarge)
  }

  @Test func aDiskThatFailsEndsIt() throws {
    var download = try begun()
    download.head(try head(200, 5))
    download.body([1])
    _ = actions(&download)
    let full = StorageError.diskFull(path: "p")
    download.wrote(1, .failure(full))
    #expect(actions(&download) == [.discard, .end(.storage(full))])
  }
}
