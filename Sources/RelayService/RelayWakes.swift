import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelay
import LockstepStorage
import LockstepWebPush

/// The owner's settings for waking devices.
package struct RelayWakes: Sendable, Hashable {
  var rules: PushRules
  var contact: String?

  /// Returns the configuration with the keys in the store. The first relay on a store makes the
  /// first key: devices subscribe for it, so it stays.
  func configuration(
    in store: any ZoneStore
  ) throws(CommandFailure) -> WakeConfiguration {
    guard
      let configuration = WakeConfiguration(
        keys: try RelayWakes.keys(in: store).inForce(at: SystemClock.moment().wall),
        rules: rules, subject: contact)
    else {
      throw CommandFailure(
        "the store's key for push services is invalid; restore the store from a backup, or start "
          + "with --wakes off")
    }
    return configuration
  }

  private static func keys(in store: any ZoneStore) throws(CommandFailure) -> [WakeKey] {
    do throws(StorageError) {
      if case .wakeKeys(let keys) = try store.read(.wakeKeys), !keys.isEmpty { return keys }
      let wall = SystemClock.moment().wall
      let first = WakeConfiguration.newKey(from: Entropy.secrets, at: wall)
      let results = try store.commit([.addWakeKey(first, onlyFirst: true)], wall: wall)
      guard case .wakeKeys(let keys)? = results.first else { return [] }
      return keys
    } catch {
      throw CommandFailure("\(error)")
    }
  }
}
