import LockstepModel
import LockstepWire

/// Query for the account's devices at the relay.
enum DeviceProbe {
  enum Found: Sendable {
    case devices([Device])
    /// The relay could not be asked, for this reason.
    case unknown(String)
  }

  static func asking(_ member: HomeMember) throws(CommandFailure) -> Look<Found> {
    try Look("devices") { find(member) }
  }

  private static func find(_ member: HomeMember) -> Found {
    do throws(CommandFailure) {
      return .devices(try member.call.devices(token: member.token).devices)
    } catch {
      return .unknown(error.message ?? "the relay cannot be asked")
    }
  }
}
