import LockstepApps
import LockstepCrypto
import LockstepModel
import Testing

struct VaultPlanTests {
  private static let contents: [ChunkHash] = [1, 2, 3].compactMap {
    ChunkHash(bytes: [UInt8](repeating: $0, count: 32))
  }

  private static func plan(
    _ agreed: Int?, _ file: (Int, at: Int64)?, _ record: (Int, at: Int64)?
  ) -> VaultPlan {
    func version(_ pair: (Int, at: Int64)?) -> VaultPlan.Version? {
      pair.map { VaultPlan.Version(contents[$0.0], at: $0.at) }
    }
    return VaultPlan(
      agreed: agreed.map { contents[$0] }, file: version(file), record: version(record))
  }

  @Test func whatIsTheSameIsSettled() {
    for agreed in [nil, 0, 1] {
      #expect(Self.plan(agreed, (0, at: 1), (0, at: 9)) == .inSync)
      #expect(Self.plan(agreed, nil, nil) == .inSync)
    }
  }

  @Test func whatChangedOnOneSideGoesToTheOther() {
    // Independent of the times: the side that has seen the other's version wins.
    for times in [(1, 2), (2, 1)] as [(Int64, Int64)] {
      #expect(Self.plan(0, (0, at: times.0), (1, at: times.1)) == .pull)
      #expect(Self.plan(0, (1, at: times.0), (0, at: times.1)) == .push)
    }
  }

  @Test func aDeleteGoesToTheOtherSideWhereNothingChanged() {
    #expect(Self.plan(0, (0, at: 1), nil) == .removeFile)
    #expect(Self.plan(0, nil, (0, at: 1)) == .deleteRecord)
  }

  @Test func aChangeOutlivesADelete() {
    #expect(Self.plan(0, (1, at: 1), nil) == .push)
    #expect(Self.plan(0, nil, (1, at: 1)) == .pull)
  }

  @Test func whatWasNeverAgreedOnIsNew() {
    #expect(Self.plan(nil, (0, at: 1), nil) == .push)
    #expect(Self.plan(nil, nil, (0, at: 1)) == .pull)
  }

  @Test func bothChangedKeepsBothAndTheNewerHasTheName() {
    for agreed in [nil, 2] {
      #expect(Self.plan(agreed, (0, at: 2), (1, at: 1)) == .keepBoth(.file))
      #expect(Self.plan(agreed, (0, at: 1), (1, at: 2)) == .keepBoth(.record))
      #expect(Self.plan(agreed, (0, at: 1), (1, at: 1)) == .keepBoth(.record))
    }
  }

  @Test func aFileIsEmptiedOnceACopyOfItIsKept() throws {
    let empty = try #require(ChunkHash(bytes: SHA256.hash([])))
    let full = VaultPlan.Version(Self.contents[0], at: 1)
    func plan(agreed: ChunkHash?, isCopied: Bool) -> VaultPlan {
      VaultPlan(agreed: agreed, file: full, record: .init(empty, at: 2), isCopied: isCopied)
    }
    #expect(plan(agreed: full.content, isCopied: false) == .keepEmptied)
    #expect(plan(agreed: full.content, isCopied: true) == .pull)
    #expect(plan(agreed: nil, isCopied: false) == .keepBoth(.record))
    // An empty file that gets content has nothing to lose.
    let filled = VaultPlan(agreed: empty, file: .init(empty, at: 1), record: full)
    #expect(filled == .pull)
  }

  /// In every case: content that is on one side only and was never agreed on is not lost.
  @Test func nothingIsEverLost() {
    for agreed in [nil, 0, 1, 2] as [Int?] {
      for file in [nil, 0, 1, 2] as [Int?] {
        for record in [nil, 0, 1, 2] as [Int?] {
          let plan = Self.plan(agreed, file.map { ($0, at: 5) }, record.map { ($0, at: 6) })
          let isFileNew = file != nil && file != agreed && file != record
          let isRecordNew = record != nil && record != agreed && record != file
          switch plan {
          case .inSync: #expect(file == record)
          case .push: #expect(!isRecordNew && file != nil)
          case .pull: #expect(!isFileNew && record != nil)
          case .removeFile: #expect(!isFileNew && record == nil)
          case .deleteRecord: #expect(!isRecordNew && file == nil)
          case .keepBoth: #expect(isFileNew && isRecordNew)
          case .keepEmptied: Issue.record("nothing here is empty")
          }
        }
      }
    }
  }
}
