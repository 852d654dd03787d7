import LockstepModel
import LockstepStorage
import LockstepWire

/// How much the node takes on: bytes of bodies, guesses at pairing codes.
struct Admission: Sendable {
  /// Whose share of the memory something counts in.
  enum Holder: Hashable, Sendable {
    case account(AccountID)
    /// Of those who have not signed in.
    case address(PeerNetwork)
    /// Only what all hold together is bounded: the owner, and whoever has no limit by address.
    case anybody
  }

  private let bodyLimit: Int
  private let shareLimit: Int
  /// Memory that bodies, messages and unsent answers take over all connections.
  private(set) var bodyBytes = 0
  /// Of that, what each takes who takes any.
  private var shares: [Holder: Int] = [:]
  var guesses: PairingGuesses

  init(_ configuration: RelayConfiguration) {
    bodyLimit = configuration.limits.bodyBudgetBytes(ofOneIn: configuration.nodes)
    shareLimit = min(bodyLimit, max(bodyLimit / Limits.bodyShares, Limits.bodyShareFloorBytes))
    guesses = PairingGuesses(configuration.limits)
  }

  /// Whether more may be taken on for it, such as a page of changes.
  func hasRoom(for holder: Holder) -> Bool { bodyBytes <= bodyLimit && hasShare(holder) }

  /// A connection of `holder` takes `now` bytes, and took `before`. False where that is more than
  /// there is, for it or for all: this connection should give way.
  mutating func hold(_ now: Int, before: Int, by holder: Holder) -> Bool {
    guard now != before else { return true }
    bodyBytes += now - before
    if holder != .anybody {
      let share = (shares[holder] ?? 0) + now - before
      shares[holder] = share > 0 ? share : nil
    }
    return now < before || hasRoom(for: holder)
  }

  /// Why there is no room.
  func refusal(of holder: Holder) -> Refusal {
    bodyBytes > bodyLimit || hasShare(holder) ? CommitQueue.overloaded : Admission.shareUsedUp
  }

  private func hasShare(_ holder: Holder) -> Bool {
    // While all together hold no more than one may, nobody is looked up.
    bodyBytes <= shareLimit || (shares[holder] ?? 0) <= shareLimit
  }

  static func tooManyGuesses(_ wait: Int64) -> Refusal {
    Refusal(
      .tooManyRequests, "Too many pairing codes were tried; wait a little, then try again.",
      retryAfterMilliseconds: wait)
  }

  private static let shareUsedUp = Refusal(
    .tooManyRequests,
    "The relay holds as much for this account or address as it may; read the answers that wait.",
    retryAfterMilliseconds: 1_000)
}

extension CommitRequest {
  /// What it takes in memory besides the bytes that it came as.
  var overheadBytes: Int {
    guard case .save(let save) = self else { return 0 }
    return save.request.mutations.count * Limits.recordOverheadBytes
  }
}
