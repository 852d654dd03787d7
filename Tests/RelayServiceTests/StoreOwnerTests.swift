import Glibc
import TemporaryFolders
import Testing

@testable import LockstepRelayService

/// The change from root to the owner is tested by account_stories.py: a test that changes the
/// process's user would change it for all tests that run at the same time.
struct StoreOwnerTests {
  @Test func whoOwnsTheFolderStaysWhoHeIs() throws {
    let folder = try TemporaryFolder()
    #expect(try StoreOwner.become(ofFolder: folder.path) == nil)
    #expect(try StoreOwner.become(ofFolder: folder.path("missing")) == nil)
    #expect(try StoreOwner.become(ofFolder: nil) == nil)
  }
}
