import Dispatch
import Foundation
import LockstepClient
import LockstepEventLoop
import Observation
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

/// Devices of one account on a relay in this process, as an app uses them.
struct LibraryTests {
  @Test func editsBeforeJoiningReachTheOtherDevice() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      #expect(phone.status.state == .needsPairing)
      var milk = Todo(id: "1", title: "milk")
      milk.minutes.add(5)
      try await phone.save(milk)
      try await phone.update(Todo.self, id: "1") { $0.done = true }
      #expect(try await phone.syncState(Todo.self, id: "1") == .waiting)
      await phone.close()

      let again = try await Devices.open(folders[1], relay)
      #expect(try await again.record(Todo.self, id: "1")?.done == true)
      try await again.createAccount(deviceName: "phone")
      let mac = try await Devices.open(folders[2], relay)
      try await mac.join(code: try await again.pairingCode(), deviceName: "mac")
      for await todos in mac.live(Todo.self) where !todos.isEmpty {
        #expect(todos.map(\.title) == ["milk"])
        #expect(todos[0].done)
        #expect(todos[0].minutes.value == 5)
        break
      }
      #expect(try await again.sync() != .offline(""))
      #expect(try await again.syncState(Todo.self, id: "1") == .synced)
      await again.close()
      await mac.close()
      try relay.stop()
    }
  }

  @Test func aLiveQueryFollowsTheOtherDevice() async throws {
    try await Devices.withTwo { phone, mac, _ in
      let open = mac.live(Todo.self, where: { !$0.done }, sortedBy: { $0.order < $1.order })
      var lists = open.makeAsyncIterator()
      #expect(await lists.next() == [])
      try await phone.save(Todo(id: "b", title: "bread", order: 2))
      try await phone.save(Todo(id: "a", title: "apples", order: 3))
      try await phone.save(Todo(id: "c", title: "cheese", order: 1))
      var last: [Todo] = []
      while last.count < 3, let next = await lists.next() { last = next }
      #expect(last.map(\.title) == ["cheese", "bread", "apples"])
      try await phone.update(Todo.self, id: "b") { $0.done = true }
      while last.count > 2, let next = await lists.next() { last = next }
      #expect(last.map(\.title) == ["cheese", "apples"])
      try await mac.delete(Todo.self, id: "c")
      while last.count > 1, let next = await lists.next() { last = next }
      #expect(last.map(\.id) == ["a"])
    }
  }

  @Test func aTransactionIsAllOrNone() async throws {
    try await Devices.withTwo { phone, mac, _ in
      try await phone.save(Todo(id: "1", title: "one"))
      await #expect(throws: LockstepError.noSuchRecord(type: "Todo", id: "9")) {
        try await phone.transaction { edit in
          edit.save(Todo(id: "2", title: "two"))
          try edit.update(Todo.self, id: "9") { $0.title = "nine" }
        }
      }
      #expect(try await phone.records(Todo.self).map(\.id) == ["1"])
      try await phone.transaction { edit in
        edit.save(Todo(id: "2", title: "two"))
        try edit.update(Todo.self, id: "2") { $0.title += "!" }
        edit.delete(Todo.self, id: "1")
        edit.delete(Todo.self, id: "none")
      }
      #expect(try await phone.records(Todo.self).map(\.title) == ["two!"])
      for await todos in mac.live(Todo.self) where todos.map(\.title) == ["two!"] { break }
    }
  }

  @Test func whatTheClosureThrowsReachesTheCaller() async throws {
    struct Unready: Error {}
    try await Devices.withTwo { phone, _, _ in
      try await phone.save(Todo(id: "1", title: "one"))
      await #expect(throws: Unready.self) {
        try await phone.update(Todo.self, id: "1") { _ in throw Unready() }
      }
      await #expect(throws: LockstepError.noSuchRecord(type: "Todo", id: "2")) {
        try await phone.update(Todo.self, id: "2") { $0.done = true }
      }
      await #expect(throws: LockstepError.invalidID("")) {
        try await phone.save(Todo(id: "", title: "none"))
      }
      try await phone.delete(Todo.self, id: "2")
    }
  }

  @Test func aTypeThatWasNotNamedIsRefused() async throws {
    struct Other: SyncedRecord {
      static let zone = "Others"
      var id = "1"
    }
    try await Devices.withTwo { phone, _, _ in
      await #expect(throws: LockstepError.unknownModel(type: "Other")) {
        try await phone.save(Other())
      }
      await #expect(throws: LockstepError.unknownModel(type: "Other")) {
        _ = try await phone.records(Other.self)
      }
    }
  }

  @Test func closingEndsTheSequencesAndFurtherCallsSayIt() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      let lists = phone.live(Todo.self)
      let statuses = phone.statusUpdates
      let changes = phone.changes(Todo.self)
      async let ended: Void = { for await _ in lists {} }()
      async let closed = statuses.reduce(into: [SyncStatus.State]()) { $0.append($1.state) }
      async let changed: Void = { for await _ in changes {} }()
      await phone.close()
      await ended
      await changed
      #expect(await closed.last == .closed)
      await #expect(throws: LockstepError.closed) { try await phone.save(Todo(title: "late")) }
      // The home is free again.
      let again = try await Devices.open(folders[1], relay)
      await again.close()
      try relay.stop()
    }
  }

  @Test func aHomeHasOneHolder() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      await #expect(throws: LockstepError.homeInUse(path: folders[1])) {
        _ = try await Devices.open(folders[1], relay)
      }
      await phone.close()
      try relay.stop()
    }
  }

  @Test func twoJoinsAtOnceMakeOneAccount() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      let joined = await withTaskGroup(of: Bool.self) { group in
        for name in ["one", "two", "three"] {
          group.addTask {
            do {
              try await phone.createAccount(deviceName: name)
              return true
            } catch {
              return false
            }
          }
        }
        return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
      }
      #expect(joined == 1)
      #expect(try await phone.devices().count == 1)
      await phone.close()
      await #expect(throws: LockstepError.closed) { try await phone.leave() }
      #expect(phone.engine.folder.exists)
      try relay.stop()
    }
  }

  @Test func recordsOfAnotherTypeAreOutOfReach() async throws {
    struct Label: SyncedRecord {
      static let zone = "Todos"
      var id = RecordID.random()
      var text = ""
    }
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Lockstep.open(
        at: URL(filePath: folders[1]), relay: try #require(URL(string: relay.address.url)),
        records: [Todo.self, Label.self])
      try await phone.save(Label(id: "1", text: "shop"))
      await #expect(throws: LockstepError.noSuchRecord(type: "Todo", id: "1")) {
        try await phone.update(Todo.self, id: "1") { $0.done = true }
      }
      try await phone.delete(Todo.self, id: "1")
      await #expect(throws: LockstepError.self) { try await phone.save(Todo(id: "1")) }
      #expect(try await phone.record(Label.self, id: "1")?.text == "shop")
      await phone.close()
      try relay.stop()
    }
  }

  @Test func anOrderThatIsNotStrictAndIDsThatLookAlikeAreFine() async throws {
    try await Devices.withTwo { phone, mac, _ in
      _ = mac
      let ids = ["\u{e9}", "e\u{301}", "c", "d"]
      for id in ids { try await phone.save(Todo(id: id)) }
      var lists = phone.live(Todo.self, sortedBy: { $0.order <= $1.order }).makeAsyncIterator()
      #expect(await lists.next()?.count == 4)
      for id in ids {
        try await phone.update(Todo.self, id: id) { $0.done = true }
        #expect(await lists.next()?.count == 4)
      }
      #expect(try await phone.records(Todo.self).allSatisfy(\.done))
    }
  }

  @Test func aHomeOfANewerLibraryStaysAsItIs() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      try await phone.save(Todo(id: "1", title: "milk"))
      await phone.close()
      // The version of the schema in the header of an SQLite file.
      let url = URL(filePath: folders[1] + "/replica.sqlite")
      var file = try Data(contentsOf: url)
      let version = file[60..<64]
      file.replaceSubrange(60..<64, with: [0, 0, 0, 99])
      try file.write(to: url)
      let failure = await #expect(throws: LockstepError.self) {
        try await Devices.open(folders[1], relay)
      }
      guard case .homeTooNew(_, found: 99, _) = failure else {
        Issue.record("it failed with \(String(describing: failure))")
        return
      }
      file.replaceSubrange(60..<64, with: version)
      try file.write(to: url)
      let again = try await Devices.open(folders[1], relay)
      #expect(try await again.records(Todo.self).map(\.title) == ["milk"])
      await again.close()
      try relay.stop()
    }
  }

  @Test func aDeviceThatJoinsNeverSaysThatSyncFailed() async throws {
    try await Devices.withFolders(2) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      let statuses = phone.statusUpdates
      async let states = statuses.reduce(into: [SyncStatus.State]()) { $0.append($1.state) }
      try await phone.createAccount(deviceName: "phone")
      #expect(phone.status.state != .failed)
      _ = try await phone.sync()
      await phone.close()
      let seen = await states
      #expect(seen.last == .closed && !seen.contains(.failed), "\(seen)")
      try relay.stop()
    }
  }

  @Test func aRevokedDeviceIsToldSoAndKeepsItsRecords() async throws {
    try await Devices.withTwo { phone, mac, _ in
      try await mac.save(Todo(id: "1", title: "milk"))
      _ = try await mac.sync()
      let devices = try await phone.devices()
      try await phone.revoke(try #require(devices.first { $0.name == "mac" }))
      for await status in mac.statusUpdates where status.state == .failed {
        #expect(status.reason?.isEmpty == false)
        break
      }
      let failure = await #expect(throws: LockstepError.self) { try await mac.pairingCode() }
      guard case .revoked = failure else {
        Issue.record("it failed with \(String(describing: failure))")
        return
      }
      #expect(try await mac.records(Todo.self).map(\.title) == ["milk"])
      try await mac.save(Todo(id: "2", title: "tea"))
      #expect(mac.status.state == .failed)
    }
  }

  @Test func aRevokedDeviceJoinsItsAccountAgainAndSendsWhatWaits() async throws {
    try await Devices.withTwo { phone, mac, relay in
      try await phone.save(Todo(id: "1", title: "milk"))
      for await todos in mac.live(Todo.self) where todos.count == 1 { break }
      let devices = try await phone.devices()
      let device = try #require(devices.first { $0.name == "mac" })
      try await phone.revoke(device)
      for await status in mac.statusUpdates where status.state == .failed { break }
      try await mac.save(Todo(id: "2", title: "tea"))
      try await mac.update(Todo.self, id: "1") { $0.minutes.add(5) }

      try await mac.join(code: try await phone.pairingCode(), deviceName: "mac again")
      for await todos in phone.live(Todo.self) where todos.count == 2 {
        guard todos[0].minutes.value == 5 else { continue }
        #expect(todos.map(\.title) == ["milk", "tea"])
        break
      }
      _ = try await mac.sync()
      #expect(mac.status.waiting == 0)
      let current = try await mac.devices()
      #expect(Set(current.map(\.name)) == ["phone", "mac again"])
      #expect(current.first(where: \.isCurrent).map { $0.id != device.id } == true)
    }
  }

  @Test func aRevokedDeviceJoinsNoOtherAccountWithItsRecords() async throws {
    try await Devices.withTwo { phone, mac, relay in
      let account = try #require(mac.engine.identity?.credentials.account.text)
      await #expect(throws: LockstepError.alreadyJoined(account: account)) {
        try await mac.createAccount(deviceName: "mac")
      }
      let devices = try await phone.devices()
      try await phone.revoke(try #require(devices.first { $0.name == "mac" }))
      await #expect(throws: LockstepError.otherAccount(account: account)) {
        try await mac.createAccount(deviceName: "mac")
      }
      let folder = try TemporaryFolder()
      let stranger = try await Devices.open(folder.path, relay)
      try await stranger.createAccount(deviceName: "stranger")
      let code = try await stranger.pairingCode()
      await #expect(throws: LockstepError.otherAccount(account: account)) {
        try await mac.join(code: code, deviceName: "mac")
      }
      #expect(try await stranger.devices().count == 1)
      await stranger.close()
      // Nothing has changed.
      try await mac.join(code: try await phone.pairingCode(), deviceName: "mac")
    }
  }

  @Test func aCancelledJoinEndsAtOnceAndLeavesTheHomeAsItWas() async throws {
    try await Devices.withFolders(2) { folders in
      // It accepts connections, and answers nothing.
      let silent = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0]
      guard case .host(let host, let port) = silent.address else { return }
      let phone = try await Lockstep.open(
        at: URL(filePath: folders[1]), relay: try #require(URL(string: "http://\(host):\(port)")),
        records: [Todo.self])
      try await phone.save(Todo(id: "1", title: "milk"))
      for _ in 0..<2 {
        let joining = Task { try await phone.createAccount(deviceName: "phone") }
        joining.cancel()
        await #expect(throws: CancellationError.self) { try await joining.value }
        #expect(phone.status.state == .needsPairing)
      }
      withExtendedLifetime(silent) {}
      await phone.close()
      let relay = try ServingRelay(store: folders[0])
      let again = try await Devices.open(folders[1], relay)
      try await again.createAccount(deviceName: "phone")
      _ = try await again.sync()
      #expect(try await again.syncState(Todo.self, id: "1") == .synced)
      await again.close()
      try relay.stop()
    }
  }

  @Test func theValueOfACancelledCallIsUndone() async throws {
    let (calls, called) = AsyncStream.makeStream(of: Void.self)
    let (undone, undo) = AsyncStream.makeStream(of: Int.self)
    let gate = DispatchSemaphore(value: 0)
    let record: @Sendable (Int) -> Void = { undo.yield($0) }
    let task = Task {
      try await Lockstep.onThread(isCancellable: true, undo: record) {
        called.yield()
        gate.wait()
        return 5
      }
    }
    for await _ in calls { break }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    gate.signal()
    for await value in undone {
      #expect(value == 5)
      break
    }
  }

  @Test func onlyFilesAreHomesAndAttached() async throws {
    try await Devices.withTwo { phone, _, relay in
      let web = try #require(URL(string: "https://relay.example/a.jpg"))
      let address = try #require(URL(string: relay.address.url))
      let failure = await #expect(throws: LockstepError.self) {
        _ = try await Lockstep.open(at: web, relay: address, records: [Todo.self])
      }
      guard case .home(path: "https://relay.example/a.jpg", _) = failure else {
        Issue.record("it failed with \(String(describing: failure))")
        return
      }
      let other = await #expect(throws: LockstepError.self) {
        _ = try await phone.attach(contentsOf: web, for: Photo.self)
      }
      guard case .file(path: "https://relay.example/a.jpg", _) = other else {
        Issue.record("it failed with \(String(describing: other))")
        return
      }
      let folder = try TemporaryFolder()
      try folder.write("x", to: "home")
      let file = await #expect(throws: LockstepError.self) {
        _ = try await Devices.open(folder.path("home"), relay)
      }
      #expect(file?.description.contains("name a folder") == true)
      #expect(try folder.bytes("home") == Array("x".utf8))
    }
  }

  @Test func aServerThatIsNoRelayIsNamed() throws {
    let page = Array("<html>not found</html>".utf8)
    let address = try #require(RelayAddress(url: "http://127.0.0.1:80"))
    let client = RelayClient(relay: address, trust: .system)
    #expect(
      throws: LockstepError.noRelay(address: address.url, reason: "it answers with status 404")
    ) { try client.ownBody(page, status: 404) }
    // A proxy says so while its relay is away.
    let away = #expect(throws: LockstepError.self) { try client.ownBody(page, status: 502) }
    guard case .refused = away else {
      Issue.record("it failed with \(String(describing: away))")
      return
    }
  }

  @Test func anEditOnAFullDiskSaysSo() {
    let error = LockstepError(EditFailure.storage(.diskFull(path: "home")))
    #expect(error == .noSpace(path: "home"))
    #expect(error.description.contains("free some"))
  }

  @Test func oneChangeIsNoChanges() {
    #expect(LockstepError.unsentChanges(count: 1).description.hasPrefix("1 change was not"))
    #expect(LockstepError.unsentChanges(count: 2).description.hasPrefix("2 changes were not"))
  }

  @Test func aCancelledSyncEndsAtOnce() async throws {
    try await Devices.withTwo { phone, mac, relay in
      _ = mac
      try relay.stop()
      for await status in phone.statusUpdates where status.state == .offline { break }
      let syncing = Task { try await phone.sync(within: .seconds(600)) }
      syncing.cancel()
      await #expect(throws: CancellationError.self) { try await syncing.value }
    }
  }

  @Test func changesNameWhatDoesNotDecode() async throws {
    struct Strict: SyncedRecord {
      static let zone = "Todos"
      static let recordType = "Todo"
      var id = RecordID.random()
      var title = 0
    }
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let url = try #require(URL(string: relay.address.url))
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      let mac = try await Lockstep.open(
        at: URL(filePath: folders[2]), relay: url, records: [Strict.self])
      var changes = mac.changes(Strict.self).makeAsyncIterator()
      try await mac.join(code: try await phone.pairingCode(), deviceName: "mac")
      try await phone.save(Todo(id: "1", title: "milk"))
      guard case .undecodable(let id, let error)? = await changes.next() else {
        Issue.record("the record decoded")
        return
      }
      #expect(id == "1")
      #expect(
        error
          == .undecodable(
            type: "Todo", id: "1", reason: "title must be a whole number"))
      #expect(try await mac.records(Strict.self).isEmpty)
      await #expect(throws: error) { _ = try await mac.record(Strict.self, id: "1") }
      await phone.close()
      await mac.close()
      try relay.stop()
    }
  }

  @Test func offlineEditsOfBothDevicesMeet() async throws {
    try await Devices.withFolders(3) { folders in
      let relay = try ServingRelay(store: folders[0])
      let phone = try await Devices.open(folders[1], relay)
      let mac = try await Devices.open(folders[2], relay)
      try await phone.createAccount(deviceName: "phone")
      try await phone.save(Todo(id: "1", title: "milk", tags: ["shop"]))
      try await mac.join(code: try await phone.pairingCode(), deviceName: "mac")
      for await todos in mac.live(Todo.self) where todos.count == 1 { break }
      await phone.close()
      try await mac.update(Todo.self, id: "1") {
        $0.title = "oat milk"
        $0.minutes.add(5)
        $0.tags.insert("soon")
      }
      #expect(try await mac.sync() == .nothingNew)
      let away = try await Devices.open(folders[1], relay)
      try await away.update(Todo.self, id: "1") {
        $0.done = true
        $0.minutes.add(7)
        $0.tags.remove("shop")
      }
      for await todos in away.live(Todo.self) {
        guard let todo = todos.first, todo.title == "oat milk", todo.minutes.value == 12 else {
          continue
        }
        #expect(todo.done && todo.tags == ["soon"])
        break
      }
      for await todos in mac.live(Todo.self) where todos.first?.done == true {
        #expect(todos[0].minutes.value == 12 && todos[0].tags == ["soon"])
        break
      }
      await away.close()
      await mac.close()
      try relay.stop()
    }
  }

  @Test func anAccountsDevicesAreListedAndRevoked() async throws {
    try await Devices.withTwo { phone, mac, _ in
      let devices = try await phone.devices()
      #expect(Set(devices.map(\.name)) == ["phone", "mac"])
      #expect(devices.first(where: \.isCurrent)?.name == "phone")
      let other = try #require(devices.first { $0.name == "mac" })
      try await phone.revoke(other)
      for await status in mac.statusUpdates where status.state == .failed {
        #expect(status.reason != nil)
        break
      }
    }
  }

  @Test func aPersonDecidesWhatNoRuleMay() async throws {
    try await Devices.withTwo { phone, mac, _ in
      try await phone.save(Note(id: "1", text: "milk"))
      for await notes in mac.live(Note.self) where notes.count == 1 { break }
      // Both change it, the phone without a network.
      try await withoutNetwork(phone) {
        try await phone.update(Note.self, id: "1") { $0.text = "oat milk" }
        try await mac.update(Note.self, id: "1") { $0.text = "soy milk" }
        _ = try await mac.sync()
      }
      for await conflict in phone.undecidedConflicts {
        #expect(conflict.id == "1" && conflict.recordType == "Note")
        #expect(try conflict.local(Note.self)?.text == "oat milk")
        #expect(try conflict.relay(Note.self)?.text == "soy milk")
        #expect(try await phone.syncState(Note.self, id: "1") == .needsDecision)
        #expect(phone.status.state == .needsDecision)
        try await phone.decide(conflict, keep: .local)
        await #expect(throws: LockstepError.nothingToDecide(id: "1")) {
          try await phone.decide(conflict, keep: .relay)
        }
        break
      }
      for await notes in mac.live(Note.self) where notes.first?.text == "oat milk" { break }
    }
  }

  @Test func aSyncAfterAnEditSaysThatItIsDone() async throws {
    try await Devices.withTwo { phone, mac, _ in
      // What the other device has saved when it joined is new at first.
      _ = try await mac.sync()
      _ = try await phone.sync()
      for number in 0..<20 {
        try await phone.save(Todo(id: "\(number)", title: "milk"))
        #expect(try await phone.sync() == .nothingNew)
        #expect(try await phone.syncState(Todo.self, id: "\(number)") == .synced)
      }
      await phone.close()
      await #expect(throws: LockstepError.closed) { _ = try await phone.sync() }
      for await todos in mac.live(Todo.self) where todos.count == 20 { break }
    }
  }

  /// Runs the body while the device behaves as without a network.
  private func withoutNetwork(_ device: Lockstep, _ body: () async throws -> Void) async throws {
    device.engine.post(.goOffline)
    try await body()
    device.engine.post(.goOnline)
  }

  @Test func anObservableObjectFollowsTheRecords() async throws {
    try await Devices.withTwo { phone, mac, _ in try await Self.follow(phone, mac) }
  }

  @MainActor private static func follow(_ phone: Lockstep, _ mac: Lockstep) async throws {
    let todos = mac.liveRecords(Todo.self, sortedBy: { $0.order < $1.order })
    try await phone.save(Todo(id: "1", title: "milk"))
    while todos.records.map(\.title) != ["milk"] {
      await withCheckedContinuation { continuation in
        withObservationTracking {
          _ = todos.records
        } onChange: {
          continuation.resume()
        }
      }
      // The callback comes before the change.
      await Task.yield()
    }
  }
}
