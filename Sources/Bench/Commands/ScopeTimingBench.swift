import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// Measures if the time of an answer tells a device that was paired for one zone what is in another
/// one: on a relay of its own, by requests about names that are there and names that nobody has.
struct ScopeTimingBench {
  let runs: Int
  let progress: Progress
  private let waiting: BenchWait

  /// Records in each of the two zones; each names a chunk.
  private static let records = 2_000
  /// Requests of each kind in a run.
  private static let rounds = 2_000

  init(runs: Int, progress: Progress) throws(CommandFailure) {
    self.runs = runs
    self.progress = progress
    waiting = try BenchWait()
  }

  func run() throws(CommandFailure) -> ScopeTimingTable {
    defer { progress.clear() }
    progress.show("starting a relay on a temporary store")
    // One device sends more requests than the relay usually answers.
    let relay = try ChildRelay(["--limits", "requestsPerSecondPerDevice=1000000"])
    defer { relay.stop() }
    let call = RelayCall(relay: relay.address)
    let owner = try call.join(code: nil, deviceName: "owner").credentials.token
    var random = Entropy.seededRandom()
    var chunks: [ChunkHash] = []
    for zone in [ScopeTimingNames.own, ScopeTimingNames.foreign] {
      progress.show("filling the zone \(zone)")
      let chunk = try upload("a chunk of \(zone)", owner, call)
      chunks.append(chunk)
      try fill(zone, naming: chunk, owner, call, &random)
    }
    let offer = try call.pairingOffer(
      PairingRequest(zones: [ScopeTimingNames.own], isReadOnly: true), token: owner)
    let device = try call.join(code: offer.code, deviceName: "app").credentials.token
    let names = ScopeTimingNames(
      foreignChunk: chunks[1],
      missingChunks: ["nothing", "nowhere"].compactMap { Self.hash(Array($0.utf8)) })
    var table = ScopeTimingTable(runs: [])
    for number in 1...runs {
      progress.show("run \(number) of \(runs)")
      let thread = try LoadThread(
        ScopeTimingNode(
          token: device, names: names, rounds: Self.rounds, to: relay.address,
          random: Entropy.seededRandom()),
        waiting)
      table.runs.append(
        try thread.wait(for: "a run") { report in
          if case .done(let timings) = report { timings } else { nil }
        })
      try thread.stop()
    }
    return table
  }

  private static func hash(_ bytes: [UInt8]) -> ChunkHash? {
    ChunkHash(bytes: SHA256.hash(bytes))
  }

  private func upload(
    _ text: String, _ token: String, _ call: RelayCall
  ) throws(CommandFailure) -> ChunkHash {
    let bytes = Array(text.utf8)
    guard let hash = Self.hash(bytes) else { preconditionFailure("a digest has 32 bytes") }
    _ = try call.perform(
      HTTPCallRequest("PUT", path: ["v1", "chunks", hash.text], token: token, body: bytes))
    return hash
  }

  private func fill(
    _ zone: Name, naming chunk: ChunkHash, _ token: String, _ call: RelayCall,
    _ random: inout SeededRandom
  ) throws(CommandFailure) {
    for first in stride(from: 0, to: Self.records, by: Limits.batchRecords) {
      let mutations = (first..<min(first + Limits.batchRecords, Self.records)).map { number in
        var mutation = Mutation(
          name: Name(trusted: "\(number)"), type: Name(trusted: "Load"), fields: Array("{}".utf8),
          modifiedAt: 0, baseTag: nil)
        mutation.chunks = [chunk]
        return mutation
      }
      let request = SaveRequest(
        id: BatchID(random: &random), zone: zone, atomic: false, mutations: mutations)
      _ = try call.perform(
        HTTPCallRequest(
          "POST", path: ["v1", "zones", zone.text, "records"], token: token,
          body: request.encodedBody()))
    }
  }
}
