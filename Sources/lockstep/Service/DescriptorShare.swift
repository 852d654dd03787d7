import LockstepModel
import LockstepRelay

/// How the files that a process may open are shared out: no more connections than there are
/// descriptors for, so that the owner, the store and what is being uploaded never lack one.
struct DescriptorShare {
  /// With no more connections and uploads than there are descriptors for.
  let configuration: RelayConfiguration
  /// Connections at the owner's doors.
  let ownerConnections: Int
  /// For a log; nil where there are enough for all that was asked for.
  let words: String?
  /// There are so few that the owner and uploads get less, too.
  let isSmall: Bool

  /// nil where they are too few for any relay.
  init?(of descriptors: Int, for asked: RelayConfiguration) {
    var configuration = asked
    var owner = Limits.ownerConnections
    var uploads = asked.limits.uploads
    let base = Self.base(asked)
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
      words = nil
      return
    }
    let rest = isSmall ? " and \(uploads * asked.nodes) uploads at once" : ""
    words =
      "at most \(configuration.limits.connections) connections\(rest), as this process may open "
      + "\(descriptors) files; raise that limit (ulimit -n, LimitNOFILE) for more"
  }

  /// The fewest descriptors that a relay starts with.
  static func fewest(for configuration: RelayConfiguration) -> Int {
    var descriptors = base(configuration)
    while DescriptorShare(of: descriptors, for: configuration) == nil { descriptors += 1 }
    return descriptors
  }

  /// Of the store, and of each loop.
  private static func base(_ configuration: RelayConfiguration) -> Int {
    Limits.spareDescriptors + 8 * configuration.nodes
  }

  /// With as many connections nobody else has to do with less.
  private static let plenty = 1_000
  private static let fewestConnections = 16
}
