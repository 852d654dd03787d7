import LockstepModel
import LockstepWire
import Testing

struct ChunkHashTests {
  private let hash = String(repeating: "0aF9", count: 16)

  @Test func chunksAreNamedOnceEach() throws {
    let request = try save(
      #"{"name":"a","type":"T","fields":{},"chunks":["\#(hash)","\#(hash)"],"modifiedAt":1},"#
        + #"{"name":"b","type":"T","fields":{},"chunks":[],"modifiedAt":1}"#)
    #expect(request.mutations.map { $0.chunks.map(\.text) } == [[hash.lowercased()], []])
    let back = try SaveRequest.decoded(body: request.encodedBody(), zone: request.zone)
    #expect(back == request)
  }

  @Test func aDeleteNamesNoChunks() {
    #expect(throws: Refusal.self) {
      try save(#"{"name":"a","deleted":true,"chunks":["\#(hash)"],"modifiedAt":1}"#)
    }
  }

  @Test func aRecordNamesSoManyChunksAndNoMore() throws {
    func names(_ count: Int) throws -> Int {
      let list = (0..<count).map { index in
        "\"" + String(String(index, radix: 16).reversed()).padded(to: 64) + "\""
      }
      let request = try save(
        #"{"name":"a","type":"T","fields":{},"modifiedAt":1,"chunks":["#
          + list.joined(separator: ",") + "]}")
      return request.mutations[0].chunks.count
    }
    #expect(try names(Limits.chunksPerRecord) == Limits.chunksPerRecord)
    #expect(throws: Refusal.self) { try names(Limits.chunksPerRecord + 1) }
  }

  @Test func theRecordsOfABatchNameSoManyChunksTogetherAndNoMore() throws {
    func names(_ counts: [Int]) throws -> Int {
      let records = counts.enumerated().map { place, count in
        let list = (0..<count).map { index in
          "\"" + String(String(index, radix: 16).reversed()).padded(to: 64) + "\""
        }
        return #"{"name":"\#(place)","type":"T","fields":{},"modifiedAt":1,"chunks":["#
          + list.joined(separator: ",") + "]}"
      }
      let request = try save(records.joined(separator: ","))
      return request.mutations.reduce(0) { $0 + $1.chunks.count }
    }
    #expect(try names([Limits.chunksPerBatch - 1, 1]) == Limits.chunksPerBatch)
    let refusal = #expect(throws: Refusal.self) { try names([Limits.chunksPerBatch, 1]) }
    #expect(refusal?.code == .tooManyRecords)
  }

  @Test func aRecordTellsItsChunks() throws {
    let chunk = try #require(ChunkHash(text: hash))
    let record = Record(
      zone: Name(trusted: "files"), name: Name(trusted: "a"), type: Name(trusted: "T"),
      fields: Array("{}".utf8), modifiedAt: 1, device: DeviceID(rawValue: 2), tag: 3,
      chunks: [chunk])
    #expect(try Record.decoded(body: record.encodedBody()) == record)
  }

  @discardableResult
  private func save(_ records: String) throws -> SaveRequest {
    let body = #"{"id":"0b5e7c1e-3f0a-4d6c-9a52-7d0f6a1b2c3d","records":["# + records + "]}"
    return try SaveRequest.decoded(body: Array(body.utf8), zone: Name(trusted: "files"))
  }
}

extension String {
  fileprivate func padded(to length: Int) -> String {
    self + String(repeating: "0", count: length - count)
  }
}
