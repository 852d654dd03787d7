import Glibc
import TemporaryFolders
import Testing

@testable import LockstepCommand

/// What root becomes, the story of account_stories.py tells: a test that changes the process's user
/// would change it for all that run beside it.
struct StoreOwnerTests {
  @Test func whoOwnsTheFolderStaysWhoHeIs() throws {
    let folder = try TemporaryFolder()
    #expect(try StoreOwner.become(ofFolder: folder.path) == nil)
    #expect(try StoreOwner.become(ofFolder: folder.path("missing")) == nil)
    #expect(try StoreOwner.become(ofFolder: nil) == nil)
  }
}
