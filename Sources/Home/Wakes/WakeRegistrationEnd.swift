import Lockstep
import LockstepCommandLine
import LockstepLanguage

/// Outcome of ending a device's registration at its distributor.
package enum WakeRegistrationEnd: Hashable, Sendable {
  /// There is none.
  case notRegistered
  case ended(distributor: String)
  /// The distributor may still have it.
  case unknown(WakeProblem)

  /// Ends the registration that the keys of a home name. Blocks for 40 seconds at most.
  package init(in home: HomeFolder) {
    do throws(CommandFailure) {
      guard let keys = try WakeKeys(storedIn: home), let distributor = keys.distributor else {
        self = .notRegistered
        return
      }
      self = Self.ended(keys, at: distributor)
    } catch {
      self = .unknown(
        WakeProblem(
          localized(
            "the registration there is not known: {reason}",
            ["reason": error.message ?? localized("no keys can be read")]),
          nextStep: Self.nextStep))
    }
  }

  private static func ended(_ keys: WakeKeys, at distributor: String) -> WakeRegistrationEnd {
    do throws(PushBusFault) {
      try PushBus(name: keys.name).unregister(keys.token, at: distributor)
      return .ended(distributor: distributor)
    } catch {
      return .unknown(WakeProblem(error.problem.reason, nextStep: nextStep))
    }
  }

  /// The relay has forgotten the registration, and no one has the keys any more.
  private static var nextStep: String {
    localized(
      "Nothing is sent there any more; remove Lockstep in the distributor's "
        + "settings.")
  }
}
