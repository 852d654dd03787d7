import LockstepModel
import LockstepRuntime
import LockstepStorage
import Testing

@testable import LockstepRelay

struct StoreWorkWeightTests {
  private let account = AccountID(rawValue: 7)

  private func save(records: Int, bytes: Int, connection: UInt64 = 4) -> StoreCommitJob {
    let fields = Array(repeating: UInt8(ascii: "x"), count: bytes)
    let mutations = (0..<records).map { number in
      Mutation(
        name: Name(trusted: "\(number)"), type: nil, fields: fields, modifiedAt: 0, baseTag: nil)
    }
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: Name(trusted: "z"), atomic: false, mutations: mutations)
    let commit = SaveCommit(
      account: account, device: DeviceID(rawValue: 1), request: request, digest: [])
    return StoreCommitJob(
      .save(commit), by: CommitOrigin(node: 0, connection: ConnectionID(rawValue: connection)))
  }

  @Test func aSaveWeighsItsRecordsAndItsBytes() {
    #expect(StoreWork.weight(of: save(records: 1, bytes: 100)).cost == 1)
    #expect(StoreWork.weight(of: save(records: 400, bytes: 200)).cost == 400)
    #expect(StoreWork.weight(of: save(records: 2, bytes: 10 << 10)).cost == 22)
    #expect(StoreWork.weight(of: save(records: 1, bytes: Limits.recordBytes)).cost > 1_000)
  }

  @Test func aSaveWeighsTheChunksThatItNames() throws {
    let hashes = try (0..<4_096).map { number in
      try #require(
        ChunkHash(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) }))
    }
    let mutation = Mutation(
      name: Name(trusted: "film"), type: nil, fields: Array("{}".utf8), modifiedAt: 0, baseTag: nil,
      chunks: hashes)
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: Name(trusted: "z"), atomic: false, mutations: [mutation])
    let commit = SaveCommit(
      account: account, device: DeviceID(rawValue: 1), request: request, digest: [])
    let job = StoreCommitJob(.save(commit), by: CommitOrigin(node: 0, connection: nil))
    #expect(StoreWork.weight(of: job).cost > StoreWork.portions.cost, "it is a portion of its own")
  }

  @Test func aPressIsLightAndAFullBatchIsNot() {
    let portions = StoreWork.portions
    #expect(StoreWork.weight(of: save(records: 3, bytes: 500)).cost <= portions.lightCost)
    let full = StoreWork.weight(of: save(records: Limits.batchRecords, bytes: 200)).cost
    #expect(full > portions.lightCost && full <= portions.cost)
  }

  @Test func theConnectionsOfAnAccountAreItsLines() {
    let weights = [4, 5].map { StoreWork.weight(of: save(records: 1, bytes: 1, connection: $0)) }
    #expect(weights.map(\.owner) == [7, 7])
    #expect(weights.map(\.line) == [4, 5])
  }

  @Test func aPageIsHeavyAndWhoAsksForEntranceIsNot() {
    let portions = StoreWork.portions
    let page = StoreReadJob.read(
      .changes(account, since: nil, zones: .all, limit: Limits.pageRecords))
    #expect(StoreWork.weight(of: page).cost > portions.cost, "it is a portion of its own")
    #expect(StoreWork.weight(of: page).owner == 7)
    for request in [ReadRequest.authenticate(tokenHash: [1]), .newestToken(account)] {
      #expect(StoreWork.weight(of: .read(request)).cost <= portions.lightCost)
    }
  }

  @Test func whatTouchesNobodyKnowsHowManyRecordsGoesAlone() {
    let origin = CommitOrigin(node: 0, connection: nil)
    let requests: [CommitRequest] = [
      .removeAccount(account),
      .deleteZone(account, DeviceID(rawValue: 1), Name(trusted: "z"), through: nil),
    ]
    for request in requests {
      #expect(
        StoreWork.weight(of: StoreCommitJob(request, by: origin)).cost == StoreWork.portions.cost)
    }
  }

  @Test func whatIsAskedOfAFileComesInItsOrder() throws {
    let file = ChunkFile(account: account, number: 9)
    let chunk = try Chunk([UInt8](repeating: 0, count: Limits.chunkPortionBytes))
    let requests: [ChunkRequest] = [
      .append(file, chunk.bytes), .finish(file, expecting: chunk.hash), .remove([file]),
      .read(file, offset: 0, count: Limits.chunkPortionBytes),
    ]
    let weights = requests.map { StoreWork.weight(of: .chunk($0)) }
    #expect(weights.map(\.owner) == [7, 7, 7, 7])
    #expect(weights.map(\.line) == [9, 9, 9, 9])
    #expect(weights.map(\.cost) == [129, Limits.lightCost, 2, 129])
    #expect(StoreWork.weight(of: .chunk(.removeAll(of: account))).owner == 7)
  }
}
