import LockstepCommandLine
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Stages
import TemporaryFolders
import Testing

@testable import LockstepRelayService

/// Each test runs with a relay on the store, and with the store alone.
struct AdminClientTests {
  /// Runs `body` with a client of a store, with and without a running relay.
  private func atBoth(
    _ body: (AdminClient, _ folder: String) throws -> Void
  ) throws {
    for hasRelay in [false, true] {
      let folder = try TemporaryFolder()
      // The path is too long for a socket, which must work all the same.
      let store = try folder.longFolder()
      let relay = hasRelay ? try ServingRelay(store: store, isOpen: false) : nil
      let client = try AdminClient(.folder(store), makesStore: true)
      #expect(client.hasRelay == hasRelay)
      try body(client, store)
      try relay?.stop()
    }
  }

  @Test func anAccountThatIsMadeIsListed() throws {
    try atBoth { client, _ in
      let offers = try ["mum", "", "dad"].map { label throws(CommandFailure) in
        try client.createAccount(label: label)
      }
      var listed: [AccountSummary] = []
      try client.eachAccount { listed.append($0) }
      #expect(Set(listed.map(\.label)) == ["mum", "", "dad"])
      #expect(listed.map(\.id) == offers.map(\.account).sorted())
      #expect(listed.allSatisfy { $0.devices == 0 && $0.plan == .everything })
    }
  }

  @Test func anAccountIsFoundByItsIDAndByItsLabel() throws {
    try atBoth { client, _ in
      let mum = try client.createAccount(label: "mum").account
      // Its label is the other account's id, which takes precedence.
      let other = try client.createAccount(label: mum.text).account
      #expect(try client.account(named: "mum").id == mum)
      #expect(try client.account(named: mum.text).id == mum)
      #expect(try client.account(named: other.text).id == other)
    }
  }

  @Test func aLabelThatIsInUseIsRefusedWithTheIDOfItsAccount() throws {
    try atBoth { client, _ in
      let mum = try client.createAccount(label: "Mum").account
      for label in ["Mum", "MUM"] {
        let message = try #require(failure { _ = try client.createAccount(label: label) })
        #expect(message.contains(mum.text) && message.contains("already"))
      }
      #expect(try client.account(named: "mum").id == mum)
      #expect(try client.accounts(labelled: "mUm").map(\.id) == [mum])
    }
  }

  @Test func aNameThatNobodyHasIsSaidSo() throws {
    try atBoth { client, folder in
      _ = try client.createAccount(label: "")
      for name in ["mum", "", "0123456789abcdef"] {
        #expect(
          failure { _ = try client.account(named: name) }
            == "there is no account \"\(name)\" in \(folder); lockstep account list shows all")
      }
    }
  }

  @Test func aPlanIsKept() throws {
    try atBoth { client, _ in
      let account = try client.createAccount(label: "mum").account
      for plan in [Plan(zones: [Name(trusted: "memos")]), Plan(zones: []), .everything] {
        try client.setPlan(plan, of: account)
        #expect(try client.account(named: "mum").plan == plan)
      }
    }
  }

  @Test func anAccountThatIsRemovedIsNobodys() throws {
    try atBoth { client, _ in
      let account = try client.createAccount(label: "mum").account
      try client.removeAccount(account)
      #expect(failure { try client.removeAccount(account) } == "There is no such account.")
      #expect(failure { _ = try client.issuePairing(for: account) } == "There is no such account.")
      #expect(failure { _ = try client.devices(of: account) } == "There is no such account.")
    }
  }

  @Test func theRelaysWordsComeThrough() throws {
    try atBoth { client, _ in
      let words = "An account's label may have at most 255 bytes, and no control characters."
      let label = String(repeating: "a", count: 256)
      #expect(failure { _ = try client.createAccount(label: label) } == words)
    }
  }

  @Test func whoeverUsesACodeOfEitherIsIn() throws {
    let folder = try TemporaryFolder()
    let made = try AdminClient(.folder(folder.path), makesStore: true).createAccount(
      label: "mum")
    let relay = try ServingRelay(store: folder.path, isOpen: false)
    let call = RelayCall(relay: relay.address)
    let first = try call.join(code: made.pairing.code, deviceName: "phone").credentials
    let client = try AdminClient(.folder(folder.path))
    let code = try client.issuePairing(for: made.account).pairing.code
    let second = try call.join(code: code, deviceName: "laptop").credentials
    #expect(first.account == made.account && second.account == made.account)
    #expect(
      try client.devices(of: made.account).map(\.description.deviceName) == ["phone", "laptop"])
    try relay.stop()
  }

  @Test func aStoreThatIsHeldBySomethingElseIsNamed() throws {
    let folder = try TemporaryFolder()
    try SQLiteZoneStore(directory: folder.path, opening: 1).close()
    let lock = try DirectoryLock(directory: folder.path)
    let message = failure { _ = try AdminClient(.folder(folder.path), attempts: 2) }
    #expect(message?.hasPrefix("the store \(folder.path) is in use") == true)
    lock.release()
  }

  @Test func whereNoStoreIsNoneIsMadeByTheWay() throws {
    let folder = try TemporaryFolder()
    #expect(
      failure { _ = try AdminClient(.folder(folder.path)) }?.hasPrefix("there is no store")
        == true
    )
    #expect(!folder.has("zones.sqlite"))
  }

  private func failure(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      return (error as? CommandFailure)?.message
    }
  }
}
