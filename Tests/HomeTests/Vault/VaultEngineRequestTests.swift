import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepCrypto
import LockstepEventLoop
import LockstepModel
import Synchronization
import TemporaryFolders
import Testing

@testable import LockstepHome

/// Requests that reach the mirror in the middle of a step.
struct VaultEngineRequestTests {
  /// A step of the mirror that others notice.
  private enum Event: Equatable {
    case reads
    case answers
    case reports(String?)
  }

  /// A command on a slow machine asks for a check while the first check of the file still runs,
  /// which does not know what the sync before the request has brought.
  @Test func aFileIsNotInSyncBeforeTheCheckThatWasAskedForHasEnded() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    var registry = try VaultRegistry(home: home)
    var entry = VaultEntry(name: "vault.db", path: folder.path("vault.db"))
    entry.isPlain = true
    try registry.store(entry)

    let mailbox = try Mailbox<VaultMessage>(isBlocking: true)
    let events = Mutex<[Event]>([])
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let engine = VaultEngine(home, mailbox, log: log) { order in
      switch order {
      case .agent(.readRecords(let id, _, _)):
        let isFirst = events.withLock { events in
          defer { events.append(.reads) }
          return !events.contains(.reads)
        }
        if isFirst {
          mailbox.post(.agentReport(.changed([Self.deletedRecord])))
          mailbox.post(.request(.outgoing(1), ["do": "look"]))
        }
        mailbox.post(.agentReport(.read(id, .success([]))))
        if !isFirst { mailbox.post(.stop) }
      case .agent: break
      case .answer: events.withLock { $0.append(.answers) }
      case .mirrorState(let mirror):
        let state = VaultFileStatus.all(mirror).first?.state.rawValue
        events.withLock { $0.append(.reports(state)) }
      }
    }
    engine.run()
    let happened = events.withLock { $0 }
    let asked = try #require(happened.firstIndex(of: .answers))
    let checked = try #require(happened.lastIndex(of: .reads))
    #expect(asked < checked)
    #expect(!happened[asked..<checked].contains(.reports("synced")), "\(happened)")
  }

  /// A command asks for a check just after the sync has brought a new version.
  @Test func aFileIsNotInSyncBeforeItsNewVersionIsInItsPlace() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    let path = folder.path("vault.db")
    var registry = try VaultRegistry(home: home)
    var entry = VaultEntry(name: "vault.db", path: path)
    entry.isPlain = true
    try registry.store(entry)
    let empty = try #require(ChunkHash(bytes: SHA256.hash([])))
    let manifest = VaultManifest(file: "vault.db", size: 0, sha256: empty, chunks: [])
    var record = Self.deletedRecord
    record.fields = VaultSeal.plain.fields(of: manifest, chunks: []).serialized()
    let arrived = record

    let mailbox = try Mailbox<VaultMessage>(isBlocking: true)
    // Whether the command has asked, and whether the file was there when it was first in sync.
    let seen = Mutex<(isAsked: Bool, isThere: Bool?)>((false, nil))
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let engine = VaultEngine(home, mailbox, log: log) { order in
      switch order {
      case .agent(.readRecords(let id, _, _)):
        let records = seen.withLock { $0.isAsked } ? [arrived] : []
        mailbox.post(.agentReport(.read(id, .success(records))))
      case .agent: break
      case .answer: seen.withLock { $0.isAsked = true }
      case .mirrorState(let mirror):
        guard VaultFileStatus.all(mirror).first?.state == .synced else { return }
        guard seen.withLock({ $0.isAsked }) else {
          mailbox.post(.agentReport(.changed([arrived])))
          return mailbox.post(.request(.outgoing(1), ["do": "look"]))
        }
        seen.withLock { $0.isThere = $0.isThere ?? (access(path, F_OK) == 0) }
        mailbox.post(.stop)
      }
    }
    engine.run()
    #expect(seen.withLock { $0.isThere } == true)
  }

  /// A file's folder is missing while another file's change waits for the relay.
  @Test func aFailedCheckStaysAnErrorOnceAllChangesHaveGoneUp() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    var registry = try VaultRegistry(home: home)
    try registry.store(VaultEntry(name: "vault.db", path: folder.path("vault.db")))
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let engine = VaultEngine(home, try Mailbox(isBlocking: true), log: log) { _ in }
    engine.registry = registry
    var track = VaultTrack()
    (track.state, track.isUnsent) = (.error, true)
    track.scheduleCheck(at: engine.now.advanced(milliseconds: 5_000))
    engine.tracks["vault.db"] = track
    engine.updateUnsent("vault.db")
    #expect(engine.tracks["vault.db"]?.state == .error)
    #expect(engine.tracks["vault.db"]?.isUnsent == false)
  }

  /// A device that may only read the vault has a file that the account lacks.
  @Test func aFileIsNotSentByADeviceThatMayOnlyRead() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    try folder.write(Array("mine".utf8), to: "vault.db")
    var registry = try VaultRegistry(home: home)
    var entry = VaultEntry(name: "vault.db", path: folder.path("vault.db"))
    entry.isPlain = true
    try registry.store(entry)
    let mailbox = try Mailbox<VaultMessage>(isBlocking: true)
    let reasons = Mutex<[String]>([])
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let scope = DeviceScope(zones: nil, isReadOnly: true)
    let engine = VaultEngine(home, mailbox, scope: scope, log: log) { order in
      switch order {
      case .agent(.readRecords(let id, _, _)):
        mailbox.post(.agentReport(.read(id, .success([]))))
      case .agent(let order): Issue.record("\(order)")
      case .answer: break
      case .mirrorState(let mirror):
        guard let file = VaultFileStatus.all(mirror).first, file.state == .error else { return }
        reasons.withLock { $0.append(file.reason ?? "") }
        mailbox.post(.stop)
      }
    }
    engine.run()
    let reason = try #require(reasons.withLock { $0.last })
    #expect(reason.contains("to read the zone Vault") && reason.contains("move the file away"))
    #expect(engine.tracks["vault.db"]?.due == nil, "nothing is tried again by itself")
  }

  /// The home has the vault's key and no file, and is closed while it reads the records.
  @Test func aHomeThatIsClosedAtOnceEnds() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    try VaultKeyFile(home).store(try VaultStage.ownKey)
    let mailbox = try Mailbox<VaultMessage>(isBlocking: true)
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let engine = VaultEngine(home, mailbox, log: log) { order in
      if case .agent(.readRecords) = order { mailbox.post(.stop) }
    }
    engine.run()
    #expect(engine.tracks.isEmpty)
  }

  @Test func aDeviceWithoutTheVaultWatchesNoFile() throws {
    let folder = try TemporaryFolder()
    let home = HomeFolder(path: folder.path)
    try folder.write(Array("mine".utf8), to: "vault.db")
    var registry = try VaultRegistry(home: home)
    try registry.store(VaultEntry(name: "vault.db", path: folder.path("vault.db")))
    let mailbox = try Mailbox<VaultMessage>(isBlocking: true)
    let replies = Mutex<[HomeReply]>([])
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let scope = DeviceScope(zones: [Name(trusted: "Memos")])
    let engine = VaultEngine(home, mailbox, scope: scope, log: log) { order in
      switch order {
      case .agent(let order): Issue.record("\(order)")
      case .answer(_, let reply):
        replies.withLock { $0.append(reply) }
        mailbox.post(.stop)
      case .mirrorState(let mirror): #expect(VaultFileStatus.all(mirror).isEmpty)
      }
    }
    mailbox.post(.request(.outgoing(1), ["do": "add", "path": "/x", "plain": true]))
    engine.run()
    #expect(engine.watcher == nil && engine.tracks.isEmpty)
    let reply = try #require(replies.withLock { $0.first })
    guard case .failure(let reason) = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(reason.hasSuffix("--zones Memos,Vault"))
  }

  private static let deletedRecord = Record(
    zone: VaultApp.zone, name: Name(trusted: "vault.db"), type: VaultApp.fileType, fields: nil,
    modifiedAt: 0, device: DeviceID(rawValue: 2), tag: ChangeTag(1))
}
