import Foundation
import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite
import Stages
import TemporaryFolders
import Testing

@testable import LockstepHome

/// Devices of one account with their homes and folders, and a relay in this process if they need
/// one.
final class VaultStage {
  let folder: TemporaryFolder
  private let relay: ServingRelay?
  private var holders: [HomeHolder?] = []

  /// True if files are sealed with a key that all devices have.
  private let isSealed: Bool

  init(devices: Int, hasRelay: Bool = true, isSealed: Bool = false) throws {
    self.isSealed = isSealed
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
      try SQLiteReplicaStore(home: home(number).path).write([
        .setIdentity(
          HomeIdentity(
            relay: relay?.address.url ?? "http://127.0.0.1:1", credentials: credentials,
            deviceName: "device \(number)"))
      ])
      if isSealed {
        let key = try #require(VaultKey(bytes: [UInt8](repeating: 5, count: VaultKey.count)))
        try VaultKeyFile(home(number)).store(key)
      }
      holders.append(nil)
      try open(number)
    }
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
    try ask(device, ["do": "add", "path": .string(path(device, name)), "plain": .bool(!isSealed)])
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
