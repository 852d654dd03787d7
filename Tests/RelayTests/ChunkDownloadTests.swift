import LockstepModel
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

struct ChunkDownloadTests {
  private let text = String(repeating: "ab", count: 32)
  private let file = ChunkFile(account: AccountID(rawValue: 1), number: 2)

  private func fetch(_ headers: HTTPHeaders) throws -> ChunkFetch {
    ChunkFetch(try #require(ChunkHash(text: text)), headers: headers)
  }

  @Test func withoutConditionsItIsAll() throws {
    #expect(try fetch([:]).selection(of: 10) == .bytes(0..<10, isPart: false))
    #expect(try fetch([:]).selection(of: 0) == .bytes(0..<0, isPart: false))
  }

  @Test func whatTheClientHoldsIsNotSent() throws {
    for tag in ["\"\(text)\"", "W/\"\(text)\"", "*", "\"x\", \"\(text)\""] {
      let fetch = try fetch(["If-None-Match": tag, "Range": "bytes=0-1"])
      #expect(fetch.selection(of: 10) == .held)
    }
    #expect(
      try fetch(["If-None-Match": "\"x\"", "Range": "bytes=0-1"]).selection(of: 10)
        == .bytes(0..<2, isPart: true))
  }

  @Test func aRangeCountsWhereTheTagIsTheOneMeant() throws {
    func selection(_ tag: String) throws -> ChunkFetch.Selection {
      try fetch(["Range": "bytes=-3", "If-Range": tag]).selection(of: 10)
    }
    #expect(try selection("\"\(text)\"") == .bytes(7..<10, isPart: true))
    for tag in ["W/\"\(text)\"", "\"x\"", "Sun, 06 Nov 1994 08:49:37 GMT"] {
      #expect(try selection(tag) == .bytes(0..<10, isPart: false))
    }
    #expect(try fetch(["Range": "bytes=10-"]).selection(of: 10) == .unsatisfiable)
    let two: HTTPHeaders = ["Range": "bytes=0-1", "range": "bytes=2-3"]
    #expect(try fetch(two).selection(of: 10) == .bytes(0..<10, isPart: false))
  }

  @Test func aFileIsReadAPartAtATime() {
    let size = Limits.chunkPortionBytes
    var download = ChunkDownload(file, 5..<(2 * size + 7), head: Answer(status: 206))
    expect(download.nextRead(), is: 5..<(size + 5))
    expect(download.nextRead(), is: nil)
    expect(download.recordRead(size)?.status, is: 206)
    // A file may be read in smaller parts than requested.
    expect(download.nextRead(), is: (size + 5)..<(2 * size + 5))
    expect(download.recordRead(1), is: nil)
    expect(download.nextRead(), is: (size + 6)..<(2 * size + 6))
    expect(download.recordRead(size), is: nil)
    #expect(!download.isOver)
    expect(download.nextRead(), is: (2 * size + 6)..<(2 * size + 7))
    expect(download.recordRead(1), is: nil)
    #expect(download.isOver)
    expect(download.nextRead(), is: nil)
  }

  @Test func anAnswerTellsWhichBytesItHas() throws {
    let fetch = try fetch([:])
    let part = Answer.chunk(fetch, 2..<5, isPart: true, size: 9)
    #expect(part.status == 206 && part.bodyCount == 3)
    #expect(part.headers["Content-Range"] == "bytes 2-4/9")
    #expect(part.headers["ETag"] == "\"\(text)\"")
    #expect(part.headers["Accept-Ranges"] == "bytes")
    #expect(part.headers["Content-Type"] == "application/octet-stream")
    let whole = Answer.chunk(fetch, 0..<9, isPart: false, size: 9)
    #expect(whole.status == 200 && whole.bodyCount == 9)
    #expect(!whole.headers.contains("Content-Range"))
    let refused = Answer.noSuchRange(of: 9)
    #expect(refused.status == 416 && refused.refused == .rangeNotSatisfiable)
    #expect(refused.headers["Content-Range"] == "bytes */9")
    let held = Answer.held(fetch)
    #expect(held.status == 304 && held.body.isEmpty && held.headers["ETag"] != nil)
  }
}
