import LockstepModel
import LockstepStorage
import Testing

struct RememberedBatchTests {
  private let request = SaveRequest(
    id: BatchID(high: 1, low: 1), zone: Name(trusted: "Z"), atomic: false,
    mutations: ["a", "b", "c"].map {
      Mutation(
        name: Name(trusted: $0), type: Name(trusted: "T"), fields: [], modifiedAt: 0, baseTag: 0)
    })

  @Test func aWholeBatchNeedsNoWords() throws {
    let batch = try remember { _ in nil }
    #expect(batch == RememberedBatch(digest: [7], firstTag: 10, words: nil))
    let results = try batch.results(of: request, wall: 0) { _ in nil }
    #expect(results == saved([10, 11, 12]))
  }

  @Test func tagsAndConflictsComeBackInTheirPlaces() throws {
    let existing = ExistingRecord(tag: 1, type: Name(trusted: "T"), isDeleted: false)
    let batch = try remember { $0.text == "b" ? existing : nil }
    #expect(batch.words == "saved,conflict,saved")
    let results = try batch.results(of: request, wall: 0) { _ in nil }
    #expect([results[0], results[2]] == [saved([10])[0], .saved(name: name(2), tag: 11)])
    #expect(
      results[1]
        == .conflict(
          name: name(1), record: .nothing(at: RecordKey(zone: request.zone, name: name(1)))))
  }

  @Test func aCodeComesBackWithTheTimeOfNow() throws {
    let batch = RememberedBatch(digest: [], firstTag: 1, words: "clockAhead,badName,nonsense")
    let results = try batch.results(of: request, wall: 99) { _ in nil }
    let refusals = results.compactMap { result -> Refusal? in
      if case .refused(_, let refusal) = result { refusal } else { nil }
    }
    #expect(refusals.map(\.code) == [.clockAhead, .badName, .internalError])
    #expect(refusals.map(\.relayTime) == [99, nil, nil])
  }

  private func remember(_ existing: (Name) -> ExistingRecord?) throws -> RememberedBatch {
    let commit = SaveCommit(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 1), request: request,
      digest: [7])
    return RememberedBatch(
      try SavePlan(commit, after: 9, existing: { existing($0) }, hasChunk: { _ in false }),
      after: 9, digest: commit.digest)
  }

  private func name(_ index: Int) -> Name { request.mutations[index].name }

  private func saved(_ tags: [ChangeTag]) -> [MutationResult] {
    tags.enumerated().map { .saved(name: name($0.offset), tag: $0.element) }
  }
}
