import Changes
import Devices
import Glibc
import Loop
import Relay
import Storage
import StorageSQLite

/// Makes accounts in a relay's store: through the relay that holds it, or, where none does, by
/// holding it for as long as that takes.
struct AccountMaker {
  let store: String
  /// How often to try, 50 ms apart, while a relay is just starting or ending.
  var attempts = 40

  struct Made {
    var offer: AccountOffer
    /// The relay made it; otherwise it stands in a store that nobody serves yet.
    var isByRelay: Bool
  }

  func make(_ label: String) throws(CommandFailure) -> Made {
    for _ in 0..<attempts {
      if let store = try open() {
        defer { store.close() }
        return Made(offer: try Self.make(label, in: store), isByRelay: false)
      }
      if let offer = try askRelay(label) { return Made(offer: offer, isByRelay: true) }
      usleep(50_000)
    }
    throw CommandFailure(
      "the store \(store) is in use, but no relay answers there; see which process has it open "
        + "(lock in that folder holds its number), and start the relay again")
  }

  /// nil where another process holds the store.
  private func open() throws(CommandFailure) -> SQLiteZoneStore? {
    do throws(StorageError) {
      return try SQLiteZoneStore(directory: store)
    } catch {
      if case .inUse = error { return nil }
      throw CommandFailure("\(error)")
    }
  }

  /// The commit that the relay would make.
  private static func make(
    _ label: String, in store: SQLiteZoneStore
  ) throws(CommandFailure) -> AccountOffer {
    let wall = SystemClock.moment().wall
    do {
      let (offer, request) = try AccountOffer.make(
        label: label, secrets: Entropy.secrets, wall: wall)
      for case .refused(let refusal) in try store.commit([request], wall: wall) { throw refusal }
      return offer
    } catch let refusal as Refusal {
      throw CommandFailure(refusal.detail)
    } catch {
      throw CommandFailure("\(error)")
    }
  }

  /// nil where no relay listens.
  private func askRelay(_ label: String) throws(CommandFailure) -> AccountOffer? {
    let label: JSONValue = ["label": .string(label)]
    let request = HTTPCallRequest(
      "POST", path: ["v1", "admin", "accounts"], body: label.serialized())
    let call = HTTPCall(
      request, toSocket: RelayService.controlSocket(inStore: store), at: SystemClock.moment())
    switch try RelayCall.outcome(of: call) {
    case .unreachable: return nil
    case .unanswered(let reason):
      throw CommandFailure(
        "the relay on \(store) gave no answer (\(reason)); it may have made the account; "
          + "look at what it says, then try again")
    case .answered(let status, let body):
      let body = try RelayCall.body(body, status: status)
      do throws(Refusal) {
        return try AccountOffer.decoded(body: body)
      } catch {
        throw CommandFailure(
          "the relay on \(store) is of another version (\(error.detail)); start it again")
      }
    }
  }
}
