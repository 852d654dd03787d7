import LockstepModel
import LockstepStorage
import Testing

struct SavePlanTests {
  private let name = Name(trusted: "a")
  private let live = ExistingRecord(tag: 4, type: Name(trusted: "Old"), isDeleted: false)
  private let tombstone = ExistingRecord(tag: 4, type: Name(trusted: "Old"), isDeleted: true)

  /// Every base tag with every existing record.
  @Test func aChangeLandsOnlyOnTheVersionItWasMadeOn() throws {
    let cases: [(base: ChangeTag?, existing: ExistingRecord?, lands: Bool)] = [
      (nil, nil, true), (nil, live, true), (nil, tombstone, true),
      (0, nil, true), (0, live, false), (0, tombstone, true),
      (4, nil, false), (4, live, true), (4, tombstone, true),
      (3, nil, false), (3, live, false), (3, tombstone, false),
    ]
    for (base, existing, lands) in cases {
      for fields in [[], nil] as [[UInt8]?] {
        let plan = try plan([mutation(fields: fields, base: base)], over: existing)
        #expect((plan.verdicts != [.conflict]) == lands, "\(String(describing: base))")
        #expect(plan.newest == (lands ? 10 : 9))
      }
    }
  }

  @Test func aChangeOfAnExistingRecordNeedsALiveOne() throws {
    var change = mutation(fields: [], base: nil)
    change.onlyExisting = true
    #expect(try plan([change], over: nil).verdicts == [.conflict])
    #expect(try plan([change], over: tombstone).verdicts == [.conflict])
    #expect(try plan([change], over: live).records.map(\.tag) == [10])
  }

  /// The later version wins on devices where the newer one wins.
  @Test func aTimeOfTheRelayIsLaterThanTheVersionBefore() throws {
    for (former, wall, time) in [(5, 9, 9), (9, 9, 10), (20, 9, 21)] as [(Int64, Int64, Int64)] {
      var existing = live
      existing.modifiedAt = former
      var change = mutation(fields: [])
      change.modifiedAt = wall
      #expect(try plan([change], over: existing).records.map(\.modifiedAt) == [wall])
      change.isStampedByRelay = true
      #expect(try plan([change], over: existing).records.map(\.modifiedAt) == [time])
      #expect(try plan([change], over: nil).records.map(\.modifiedAt) == [wall])
    }
  }

  @Test func aTombstoneKeepsTheTypeThatTheRecordHad() throws {
    #expect(try plan([mutation(fields: nil)], over: live).records.map(\.type.text) == ["Old"])
    #expect(try plan([mutation(fields: nil)], over: nil).records.map(\.type.text) == ["New"])
    let bare = Mutation(name: name, type: nil, fields: nil, modifiedAt: 0, baseTag: nil)
    #expect(try plan([bare], over: nil).records.map(\.type) == [Record.typeOfNothing])
    #expect(try plan([mutation(fields: [])], over: live).records.map(\.type.text) == ["New"])
  }

  /// Every change with every existing record.
  @Test func newAndDeletedLiveRecordsAreCounted() throws {
    let cases: [(fields: [UInt8]?, existing: ExistingRecord?, change: Int)] = [
      ([], nil, 1), ([], tombstone, 1), ([], live, 0),
      (nil, nil, 0), (nil, tombstone, 0), (nil, live, -1),
    ]
    for (fields, existing, change) in cases {
      #expect(try plan([mutation(fields: fields)], over: existing).liveChange == change)
      let failing = [mutation(fields: fields), mutation(fields: [], base: 1)]
      #expect(try plan(failing, over: existing).liveChange == change)
      #expect(try plan(failing, over: existing, atomic: true).liveChange == 0)
    }
  }

  /// Without space on the disk, only what frees space is accepted.
  @Test func onlyTheDeletionOfALiveRecordNeedsNoSpace() throws {
    let low = Refusal(.diskLow, "The disk is full.")
    func verdict(_ fields: [UInt8]?, _ existing: ExistingRecord?) throws -> SavePlan {
      let commit = SaveCommit(
        account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2),
        request: SaveRequest(
          id: BatchID(high: 1, low: 2), zone: Name(trusted: "Films"), atomic: false,
          mutations: [mutation(fields: fields)]),
        digest: [], unlessDeleting: low)
      return try SavePlan(commit, after: 9) { _ in
        existing
      } hasChunk: { _ in
        true
      }
    }
    #expect(try verdict(nil, live).records.map(\.tag) == [10])
    let cases: [(fields: [UInt8]?, existing: ExistingRecord?)] = [
      (nil, nil), (nil, tombstone), ([], live), ([], nil),
    ]
    for (fields, existing) in cases {
      let plan = try verdict(fields, existing)
      #expect(plan.verdicts == [.refuse(low)])
      // The retry is decided anew, once there is space.
      #expect(!plan.isRemembered)
    }
  }

  /// A change made on a version that the relay has lost meets a deletion that came since.
  @Test func aTombstoneConflictsIfTheChangeRequestsIt() throws {
    var again = mutation(fields: [], base: 0)
    #expect(try plan([again], over: tombstone).records.map(\.tag) == [10])
    again.unlessDeleted = true
    #expect(try plan([again], over: tombstone).verdicts == [.conflict])
    #expect(try plan([again], over: nil).records.map(\.tag) == [10])
    #expect(try plan([again], over: live).verdicts == [.conflict])
  }

  /// The lost versions on which a record was made stay with it.
  @Test func aChangeKeepsTheLostVersionsOfItsBase() throws {
    let (old, new) = (VersionFingerprint(rawValue: 1), VersionFingerprint(rawValue: 2))
    var existing = live
    existing.includes = [old]
    func includes(_ mutation: Mutation) throws -> [[VersionFingerprint]] {
      try plan([mutation], over: existing).records.map(\.includes)
    }
    #expect(try includes(mutation(fields: [], base: live.tag)) == [[old]])
    #expect(try includes(mutation(fields: nil, base: live.tag)) == [[old]])
    var naming = mutation(fields: [], base: live.tag)
    naming.includes = [new]
    #expect(try includes(naming) == [[old, new]])
    // The newest are kept.
    naming.includes = (0..<Limits.includes).map { VersionFingerprint(rawValue: UInt64($0) + 9) }
    #expect(try includes(naming) == [naming.includes])
    naming.includes = [old]
    #expect(try includes(naming) == [[old]])
    // An overwrite was not made on the version that it replaces.
    #expect(try includes(mutation(fields: [])) == [[]])
  }

  @Test func theFirstChunkThatIsMissingDecides() throws {
    var naming = mutation(fields: [])
    naming.chunks = (0..<200).compactMap { ChunkHash(bytes: [UInt8](repeating: $0, count: 32)) }
    var asked = 0
    let commit = SaveCommit(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2),
      request: SaveRequest(
        id: BatchID(high: 1, low: 2), zone: Name(trusted: "Films"), atomic: false,
        mutations: [naming]),
      digest: [])
    let plan = try SavePlan(commit, after: 9) { _ in
      nil
    } hasChunk: { _ in
      asked += 1
      return asked < 5
    }
    #expect(plan.verdicts == [.refuse(StoreRefusals.chunksMissing)])
    #expect(asked == 5)
  }

  @Test func aRecordNeedsEveryChunkThatItNames() throws {
    let hashes = [1, 2].compactMap { ChunkHash(bytes: [UInt8](repeating: $0, count: 32)) }
    var naming = mutation(fields: [])
    naming.chunks = hashes
    let refused = try plan([naming, mutation(fields: [])], over: nil, here: [hashes[0]])
    #expect(refused.verdicts.first == .refuse(StoreRefusals.chunksMissing))
    #expect(refused.records.map(\.tag) == [10])
    #expect(refused.chunkChanges.isEmpty)
    var old = live
    old.chunks = [hashes[0]]
    let saved = try plan([naming], over: old, here: hashes)
    #expect(saved.records.map(\.chunks) == [hashes])
    #expect(saved.chunkChanges == [ChunkChange(hashes[1], 1)])
    // A delete names no chunks, even if the mutation lists some, and needs none.
    naming.fields = nil
    let deleted = try plan([naming], over: old)
    #expect(deleted.records.map(\.chunks) == [[]])
    #expect(deleted.chunkChanges == [ChunkChange(hashes[0], -1)])
    let aborted = try plan([naming, mutation(fields: [], base: 1)], over: old, atomic: true)
    #expect(aborted.chunkChanges.isEmpty)
  }

  @Test func tagsAreConsecutiveWithoutFailedMutations() throws {
    var refused = mutation(fields: [])
    refused.refusal = Refusal(.recordTooLarge, "")
    let plan = try plan(
      [mutation(fields: []), refused, mutation(fields: [], base: 1), mutation(fields: [])],
      over: nil)
    #expect(plan.records.map(\.tag) == [10, 11])
    #expect(plan.newest == 11)
    #expect(plan.records.map(\.device) == [DeviceID(rawValue: 5), DeviceID(rawValue: 5)])
  }

  @Test func oneFaultAbortsAnAtomicBatch() throws {
    let plan = try plan(
      [mutation(fields: []), mutation(fields: [], base: 1)], over: nil, atomic: true)
    #expect(plan.records.isEmpty)
    #expect(plan.newest == 9)
    guard case .refuse(let refusal) = plan.verdicts.first else {
      Issue.record("\(plan.verdicts)")
      return
    }
    #expect(refusal.code == .batchAborted)
    #expect(plan.verdicts.last == .conflict)
  }

  private func mutation(fields: [UInt8]?, base: ChangeTag? = nil) -> Mutation {
    Mutation(
      name: name, type: Name(trusted: "New"), fields: fields, modifiedAt: 0, baseTag: base)
  }

  private func plan(
    _ mutations: [Mutation], over existing: ExistingRecord?, atomic: Bool = false,
    here: [ChunkHash] = []
  ) throws -> SavePlan {
    let request = SaveRequest(
      id: BatchID(high: 1, low: 1), zone: Name(trusted: "Z"), atomic: atomic,
      mutations: mutations)
    let commit = SaveCommit(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 5), request: request, digest: [])
    return try SavePlan(commit, after: 9) { _ in
      existing
    } hasChunk: {
      here.contains($0)
    }
  }
}
