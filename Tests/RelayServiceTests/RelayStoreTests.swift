import LockstepModel
import LockstepStorage
import TemporaryFolders
import Testing

@testable import LockstepRelayService

struct RelayStoreTests {
  @Test func aFolderIsOneRelaysOwn() throws {
    let folder = try TemporaryFolder()
    let place = StoreLocation.folder(folder.path)
    let store = try RelayStore(place, rules: StoreRules(), attempts: 0)
    #expect(!store.wasRestored)
    #expect(try store.makeBus(BusSettings()) == nil, "there are no others to be heard")
    let account = AccountID(rawValue: 1)
    let made = try store.writer.commit(
      [.createAccount(account, generation: 1, label: "mum", device: nil, pairing: nil)], wall: 1)
    #expect(made == [.done])
    #expect(try store.makeReader().read(.accountCount) == .count(1))
    let file = ChunkFile(account: account, number: 1)
    #expect(try store.makeFiles(uploads: 1).perform(.append(file, [1])) == .done)
    #expect(throws: StorageError.self) {
      try RelayStore(place, rules: StoreRules(), attempts: 1)
    }
  }

  @Test func aDatabaseThatIsNotThereIsToldOf() throws {
    let place = try StoreLocation("postgres://me@127.0.0.1:1/lockstep")
    do throws(StorageError) {
      _ = try RelayStore(place, rules: StoreRules(), attempts: 1)
      Issue.record("it was opened")
    } catch {
      guard case .unavailable = error else {
        Issue.record("it was told as \(error)")
        return
      }
      #expect("\(error)".contains("127.0.0.1:1"))
    }
  }
}
