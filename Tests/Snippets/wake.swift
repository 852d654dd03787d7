import Foundation
import Lockstep

func snippet(lockstep: Lockstep, deviceToken: Data, userInfo: [AnyHashable: Any]) async throws {
  // SNIPPET
}
