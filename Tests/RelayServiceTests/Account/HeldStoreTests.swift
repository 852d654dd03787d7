import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct HeldStoreTests {
  @Test func aStoreIsHeldUntilNobodyNeedsIt() throws {
    let folder = try TemporaryFolder()
    do {
      let held = try #require(try HeldStore(.folder(folder.path)))
      #expect(try HeldStore(.folder(folder.path)) == nil)
      withExtendedLifetime(held) {}
    }
    #expect(try HeldStore(.folder(folder.path)) != nil)
  }
}
