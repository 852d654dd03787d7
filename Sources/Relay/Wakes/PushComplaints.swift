import LockstepModel
import LockstepRuntime
import LockstepWebPush

/// Answers of push services that the relay's owner should know of. Clients choose the services, so
/// one of them could fill the log: a key that is refused is reported only if it is for several
/// accounts, and there are few reports per hour.
struct PushComplaints: Sendable {
  private struct Kind: Hashable, Sendable {
    var origin: String
    var isAboutKey: Bool
  }

  private struct Record: Sendable {
    var accounts: Set<AccountID> = []
    var since: Instant
    var isReported = false
  }

  /// Accounts of which a refusal of the key is taken for the relay's own fault.
  private static let accountsMin = 3
  /// Services, and reports, of an hour.
  private static let recordsMax = 64
  private static let reportsMax = 10
  private static let hour: Int64 = 3_600_000

  private var records: [Kind: Record] = [:]
  private var reports: [Instant] = []

  /// Records an answer to a push for a device of the account. Returns what is to be reported now.
  mutating func record(
    _ answer: PushAnswer, of origin: String, for account: AccountID, at now: Instant
  ) -> RelayReport? {
    switch answer {
    case .invalid(let status):
      return record(Kind(origin: origin, isAboutKey: false), account, at: now)
        ? .pushRejected(service: origin, status: status) : nil
    case .keyRefused(let status):
      return record(Kind(origin: origin, isAboutKey: true), account, at: now)
        ? .pushKeyRefused(service: origin, status: status) : nil
    case .sent, .gone, .throttled, .paused, .redirected, .failed: return nil
    }
  }

  private mutating func record(_ kind: Kind, _ account: AccountID, at now: Instant) -> Bool {
    records = records.filter { now.milliseconds(since: $0.value.since) < Self.hour }
    reports.removeAll { now.milliseconds(since: $0) >= Self.hour }
    var record = records[kind] ?? Record(since: now)
    if record.accounts.count < Self.accountsMin { record.accounts.insert(account) }
    let isDue =
      !record.isReported && reports.count < Self.reportsMax
      && record.accounts.count >= (kind.isAboutKey ? Self.accountsMin : 1)
    if isDue {
      record.isReported = true
      reports.append(now)
    }
    if records[kind] != nil || records.count < Self.recordsMax { records[kind] = record }
    return isDue
  }
}
