import LockstepModel

extension Lockstep {
  /// The part of an account that a device may use. The pairing code with which the device joined
  /// fixes it (`pairingCode`), and the relay enforces it.
  public struct Scope: Hashable, Sendable {
    /// Actions that a device may take on the records of its zones.
    public enum Access: Hashable, Sendable, CaseIterable {
      case readWrite
      case read
    }

    /// Zones of which the device may know, by name; nil: all, also those that are made later.
    public let zones: [String]?
    public let access: Access

    /// The whole account.
    public static let everything = Scope(.everything)

    init(_ scope: DeviceScope) {
      zones = scope.zones?.map(\.text)
      access = scope.isReadOnly ? .read : .readWrite
    }

    /// True if the device may read the records of this zone.
    ///
    /// - Parameter zone: A record type's `zone`.
    public func includes(_ zone: String) -> Bool { zones?.contains(zone) ?? true }

    /// True if the device may save and delete records of this zone.
    ///
    /// - Parameter zone: A record type's `zone`.
    public func includesWrites(to zone: String) -> Bool {
      access == .readWrite && includes(zone)
    }

    /// Returns one sentence about an edit that this scope does not allow, with the next step.
    func explanation(ofEditIn zone: String) -> String {
      guard includes(zone) else {
        let names = (zones ?? []) + [zone]
        let wanted = names.map { "\"\($0)\"" }.joined(separator: ", ")
        return "this device was paired without the zone \(zone), and nothing was changed; pair it "
          + "again with the code of pairingCode(zones: [\(wanted)]) on a device that has the zone"
      }
      return "this device was paired to read only, and nothing was changed in the zone \(zone); "
        + "pair it again with the code of pairingCode(access: .readWrite) on another device"
    }
  }

  /// Part of the account that this device may use; everything before it has joined an account.
  /// Edits outside of it throw `LockstepError.outOfScope`, also without a network.
  public var scope: Scope { Scope(engine.identity?.credentials.scope ?? .everything) }
}
