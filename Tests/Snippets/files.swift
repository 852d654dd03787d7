import Foundation
import Lockstep

func snippet(lockstep: Lockstep, url: URL) async throws {
  // SNIPPET
}
