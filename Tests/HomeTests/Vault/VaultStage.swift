import Foundation
import Glibc
import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepSealing
import LockstepStorage
import LockstepStorageSQLite
import Stages
import TemporaryFolders
import Testing

@testable import LockstepClient
@testable import LockstepHome

/// Devices of one account with their homes and folders, and a relay in this process if they need
/// one.
final class VaultStage {
  let folder: TemporaryFolder
  private let relay: ServingRelay?
  private var holders: [HomeHolder?] = []

  /// Seal of the files.
  enum Sealing: CaseIterable {
    case none
    /// A key of the vault's own, which all devices have.
    case ownKey
    /// The account's keys, which all devices have: records are sealed.
    case zone
  }

  private let sealing: Sealing

  init(devices: Int, hasRelay: Bool = true, sealing: Sealing = .none) throws {
    self.sealing = sealing
    folder = try TemporaryFolder()
    relay = hasRelay ? try ServingRelay(store: folder.path("relay")) : nil
    let credentials =
      try relay.map { try RelayCall(relay: $0.address).account(devices: devices) }
      ?? (0..<devices).map {
        Credentials(
          account: AccountID(rawValue: 1), device: DeviceID(rawValue: UInt64($0 + 1)),
          token: "secret")
      }
    for (number, credentials) in credentials.enumerated() {
      for path in [path(number), home(number).path] { #expect(mkdir(path, 0o700) == 0) }
      let identity = HomeIdentity(
        relay: relay?.address.url ?? "http://127.0.0.1:1", credentials: credentials,
        deviceName: "device \(number)")
      let store = try SQLiteReplicaStore(home: home(number).path)
      var replica = Replica(store: store, apps: AppCatalog.all)
      let keys = sealing == .zone ? try Self.accountKeys : nil
      #expect(try replica.join(identity, JoinedKeys(keys), wall: SystemClock.moment().wall) == nil)
      if sealing == .ownKey { try VaultKeyFile(home(number)).store(Self.ownKey) }
      holders.append(nil)
      try open(number)
    }
  }

  static var ownKey: VaultKey {
    get throws {
      try #require(VaultKey(bytes: [UInt8](repeating: 5, count: VaultKey.count)))
    }
  }

  private static var accountKeys: SealingKeys {
    get throws {
      let secret = [UInt8](repeating: 1, count: KeyGeneration.count)
      let keys = AccountKeys(
        nameSecret: [UInt8](repeating: 2, count: ZoneKeys.count),
        generations: [try #require(KeyGeneration(secret: secret))])
      return .account(try #require(keys), .all(but: [KeyRing.zone]))
    }
  }

  /// Writes a record of the vault in a home that is closed.
  func write(_ fields: JSONValue, as name: Name, _ device: Int) throws {
    let store = try SQLiteReplicaStore(home: home(device).path)
    var replica = Replica(store: store, apps: AppCatalog.all)
    let key = RecordKey(zone: VaultApp.zone, name: name)
    let request = EditRequest(key: key, type: VaultApp.fileType) { _ throws(EditRefusal) in fields }
    let wall = SystemClock.moment().wall
    let clock = ClockReading(wall: wall, offset: 0, isTrusted: false, isMeasured: false)
    let task = ReplicaTask.edit(OrderID(rawValue: 1), request)
    guard
      case .edited(_, .success) = try replica.perform(ReplicaJob(task: task, clock: clock)).result
        .get()
    else { throw CommandFailure("the record was not written") }
  }

  /// Returns the live records of the vault's files on a device.
  func records(_ device: Int) throws -> [Record] {
    let store = try SQLiteReplicaStore(reading: home(device).path)
    defer { store.close() }
    return try store.records(zone: VaultApp.zone, type: VaultApp.fileType)
      .filter { !$0.isDeleted }
  }

  func home(_ device: Int) -> HomeFolder { HomeFolder(path: folder.path("home\(device)")) }

  /// Returns the path of a device's folder for files, or of a file in it.
  func path(_ device: Int, _ name: String? = nil) -> String {
    folder.path("\(device)") + (name.map { "/" + $0 } ?? "")
  }

  func open(_ device: Int) throws {
    let log = Log("test", level: .error, sink: Log.Sink { _ in })
    let holder = try #require(try HomeHolder.hold(home(device), log: log))
    try holder.start()
    holders[device] = holder
  }

  func close(_ device: Int) throws {
    try holders[device]?.stop()
    holders[device] = nil
  }

  func end() throws {
    for device in holders.indices { try close(device) }
    try relay?.stop()
  }

  // MARK: files

  func write(_ text: String, _ device: Int, _ name: String = "vault.db") throws {
    try folder.write(text, to: "\(device)/\(name)")
  }

  func write(_ bytes: [UInt8], _ device: Int, _ name: String = "vault.db") throws {
    try folder.write(bytes, to: "\(device)/\(name)")
  }

  /// Sets the file's time one minute ahead. The system's clock for files is some milliseconds
  /// behind the clock for records, so a write directly after a record may seem to precede it.
  func makeNewer(_ device: Int, _ name: String = "vault.db") throws {
    let path = path(device, name)
    var status = stat()
    try #require(stat(path, &status) == 0)
    let then = timeval(tv_sec: status.st_mtim.tv_sec + 60, tv_usec: 0)
    #expect(utimes(path, [then, then]) == 0)
  }

  func read(_ device: Int, _ name: String = "vault.db") throws -> String? {
    // One open without an earlier check, because the file may be removed in between.
    guard let bytes = FileManager.default.contents(atPath: path(device, name)) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the visible files in a device's folder, by name. A file that is being received has a
  /// hidden name, and may disappear at any moment.
  func all(_ device: Int) throws -> [String: String] {
    var all: [String: String] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: path(device))
    where !name.hasPrefix(".") {
      all[name] = try read(device, name)
    }
    return all
  }

  // MARK: commands

  func ask(_ device: Int, _ request: JSONValue) throws -> HomeReply {
    let connection = try #require(HomeConnection(socket: home(device).socket))
    #expect(connection.send(.mirror(request)))
    guard case .line(let line) = connection.next(milliseconds: 20_000) else {
      throw CommandFailure("no answer came")
    }
    return try #require(HomeReply(line))
  }

  func add(_ device: Int, _ name: String = "vault.db") throws -> HomeReply {
    try ask(
      device,
      ["do": "add", "path": .string(path(device, name)), "plain": .bool(sealing == .none)])
  }

  /// Waits until all files of a device are in sync, or no progress is possible.
  @discardableResult
  func settled(_ device: Int) throws -> [VaultFileStatus] {
    try VaultWait(
      home(device), names: nil, progress: Progress(isShown: false) { _ in },
      milliseconds: 60_000
    ).files
  }

  /// Waits until a condition holds on a device.
  func until(_ device: Int, _ isSo: () throws -> Bool) throws {
    try until(device) { _ in try isSo() }
  }

  func until(_ device: Int, _ isSo: ([VaultFileStatus]) throws -> Bool) throws {
    let connection = try #require(HomeConnection(socket: home(device).socket))
    #expect(connection.send(.watchMirror))
    var files: [VaultFileStatus] = []
    for _ in 0..<10_000 {
      // Files are written before the mirror reports it; it does not report other programs' writes.
      switch connection.next(milliseconds: 20) {
      case .line(let line): if let mirror = line["mirror"] { files = VaultFileStatus.all(mirror) }
      case .timeout: break
      case .closed, .other: throw CommandFailure("the home was closed")
      }
      if try isSo(files) { return }
    }
    Issue.record("it did not come to that: \(files)")
  }
}
