import LockstepModel
import LockstepStorage
import Testing

struct StoreRefusalsTests {
  /// The detail is for people and ends with a next step; only `notFound` may lack one.
  @Test func everyRefusalIsASentenceOfItsCode() {
    let cases: [(Refusal, RefusalCode)] = [
      (StoreRefusals.unknownToken, .badToken), (StoreRefusals.revokedDevice, .badToken),
      (StoreRefusals.unknownAccount, .notFound), (StoreRefusals.unknownDevice, .notFound),
      (StoreRefusals.unknownRecord, .notFound), (StoreRefusals.badPairingCode, .badPairingCode),
      (StoreRefusals.tooManyDevices(3), .tooManyDevices), (StoreRefusals.taken, .internalError),
      (StoreRefusals.otherBatch, .batchMismatch),
      (StoreRefusals.unknownSubscription, .notFound), (StoreRefusals.unknownChunk, .notFound),
      (StoreRefusals.quotaExceeded, .quotaExceeded),
      (StoreRefusals.chunksMissing, .chunksMissing),
      (StoreRefusals.tooManySubscriptions, .tooManySubscriptions),
      (StoreRefusals.unknownWake, .notFound), (StoreRefusals.badWakeCode, .badWakeCode),
      (StoreRefusals.tooManyWakes, .tooManySubscriptions),
    ]
    for (refusal, code) in cases {
      #expect(refusal.code == code)
      #expect(refusal.detail.hasSuffix("."))
      #expect(code == .notFound || refusal.detail.contains(";"))
    }
  }
}
