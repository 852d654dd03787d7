import LockstepModel
import LockstepRelay

/// Allocation of the files that a process may open. Limits connections to the available
/// descriptors, so that the owner, the store and uploads always have some.
struct DescriptorShare {
  /// Configuration whose connections and uploads fit the available descriptors.
  let configuration: RelayConfiguration
  /// Maximum number of connections on the owner's listeners.
  let ownerConnections: Int
  /// Text for a log; nil if there are enough descriptors for all that was asked for.
  let advice: String?
  /// True if there are so few descriptors that the owner's connections and uploads are reduced too.
  let isSmall: Bool

  /// Returns nil if there are too few for any relay. `wakesDevices`: the relay also opens
  /// connections, to push services.
  init?(of descriptors: Int, for asked: RelayConfiguration, wakesDevices: Bool = false) {
    var configuration = asked
    var owner = Limits.ownerConnections
    var uploads = asked.limits.uploads
    // Without a free descriptor, a wake is sent later.
    let pushes = wakesDevices ? min(Limits.wakeConnections, descriptors / 64) : 0
    let base = Self.base(asked) + pushes
    var most = descriptors - base - owner - uploads * asked.nodes
    isSmall = most < min(Self.plenty, asked.limits.connections)
    if isSmall {
      // An eighth each for the owner and for all uploads.
      owner = min(owner, descriptors / 8)
      uploads = max(1, min(uploads, descriptors / 8 / asked.nodes))
      most = descriptors - base - owner - uploads * asked.nodes
      configuration.limits.uploads = uploads
      configuration.limits.uploadsPerAccount = min(
        asked.limits.uploadsPerAccount, max(1, uploads / 4))
    }
    guard most >= min(Self.fewestConnections, asked.limits.connections) else { return nil }
    configuration.limits.connections = min(asked.limits.connections, most)
    self.configuration = configuration
    ownerConnections = owner
    guard configuration.limits != asked.limits else {
      advice = nil
      return
    }
    let rest = isSmall ? " and \(uploads * asked.nodes) uploads at once" : ""
    advice =
      "at most \(configuration.limits.connections) connections\(rest), as this process may open "
      + "\(descriptors) files; raise that limit (ulimit -n, LimitNOFILE) for more"
  }

  /// Returns the minimum number of descriptors with which a relay starts.
  static func fewest(for configuration: RelayConfiguration, wakesDevices: Bool = false) -> Int {
    var descriptors = base(configuration)
    while DescriptorShare(of: descriptors, for: configuration, wakesDevices: wakesDevices) == nil {
      descriptors += 1
    }
    return descriptors
  }

  /// Returns the number of descriptors for the store and for the loops.
  private static func base(_ configuration: RelayConfiguration) -> Int {
    Limits.spareDescriptors + 8 * configuration.nodes
  }

  /// Number of connections above which only connections are limited.
  private static let plenty = 1_000
  private static let fewestConnections = 16
}
