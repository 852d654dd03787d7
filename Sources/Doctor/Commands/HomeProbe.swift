import Glibc
import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepModel
import LockstepStorage
import LockstepStorageSQLite

/// Inspects a device's home while any process may hold it. Writes nothing there.
struct HomeProbe {
  private(set) var checks: [DoctorCheck] = []
  /// Relay and token of the home; nil if they cannot be read.
  private(set) var member: HomeAccess?
  private let folder: HomeFolder

  /// Timeout in milliseconds for the status of the process that holds the home.
  private static let timeoutMilliseconds: Int32 = 3_000
  private static let shownDamages = 3

  init(_ folder: HomeFolder, progress: Progress) {
    self.folder = folder
    progress.show("reading \(folder.path)")
    do throws(CommandFailure) {
      guard folder.exists else { throw HomeSession.noHome(folder) }
      var findings = HomeFindings(folder: folder.path, relayTime: SystemClock.moment().wall)
      let status = try queryHolder(&findings)
      try readStore(&findings, status)
      findings.exposed = HomeProbe.exposed(in: folder)
      findings.rulesFault = HomeProbe.rulesFault(of: folder)
      checks = DoctorCheck.checks(of: findings)
    } catch {
      checks = [.noHome(error.message ?? "the home cannot be read")]
    }
    checks.append(.disk(.home, of: folder.path, free: MachineProbe.freeBytes(of: folder.path)))
  }

  private static func rulesFault(of folder: HomeFolder) -> String? {
    do throws(CommandFailure) {
      _ = try HomeRules(of: folder)
      return nil
    } catch {
      return error.message ?? "the merge rules cannot be read"
    }
  }

  // MARK: process that holds the home

  /// Returns the status that the process that holds the home reports, or nil if there is none.
  private func queryHolder(_ findings: inout HomeFindings) throws(CommandFailure) -> HomeStatus? {
    do throws(StorageError) {
      try DirectoryLock(directory: folder.path).release()
      return nil
    } catch {
      guard case .inUse(_, let holder) = error else { throw CommandFailure("\(error)") }
      findings.process = holder.split(separator: " ").last.flatMap { Int($0) }
    }
    findings.holder = .silent
    guard let connection = HomeConnection(socket: folder.socket), connection.send(.status),
      case .line(let line) = connection.next(milliseconds: Self.timeoutMilliseconds),
      case .success(let answer) = HomeReply(line)
    else { return nil }
    findings.holder = .process
    let status = HomeStatus(json: answer)
    if let reason = status.connectionError {
      findings.fault = reason
      findings.isFailed = status.isFailed
    } else if status.needsPerson {
      findings.fault = status.line(wall: SystemClock.moment().wall)
    }
    return status
  }

  // MARK: store

  private mutating func readStore(
    _ findings: inout HomeFindings, _ status: HomeStatus?
  ) throws(CommandFailure) {
    let trust = try HomeTrust.of(folder).trust
    do throws(StorageError) {
      let store = try SQLiteReplicaStore(reading: folder.path)
      defer { store.close() }
      findings.schema = try store.schema()
      findings.damages = try store.integrityErrors(limit: Self.shownDamages)
      if !findings.damages.isEmpty { return }
      try store.onOneView { () throws(StorageError) in
        guard let identity = try store.identity(), let relay = RelayAddress(url: identity.relay)
        else { return }
        findings.relay = identity.relay
        findings.deviceName = identity.deviceName
        findings.scope = identity.credentials.scope
        try readView(of: store, &findings)
        findings.sealing = try Replica.sealingState(of: store)
        member = HomeAccess(
          relay: relay, token: identity.credentials.token, trust: trust,
          cursor: try store.cursor()?.text)
      }
    } catch {
      throw CommandFailure("\(error)")
    }
    guard member != nil else {
      throw CommandFailure(
        "the home \(folder.path) has not joined an account; see lockstep agent join --help")
    }
    // The process that holds the home reports it to the second; the value in the store may be
    // older.
    findings.lastSync = status?.lastSync ?? findings.lastSync
  }

  private func readView(
    of store: SQLiteReplicaStore, _ findings: inout HomeFindings
  ) throws(StorageError) {
    findings.relayTime += try store.value("clock.offset").flatMap { Int64($0) } ?? 0
    findings.lastSync = try store.value("sync.last").flatMap { Int64($0) }
    let off = HomeProbe.zonesOff(try store.value("zones.off"))
    var zonesOutside: Set<Name> = []
    defer { findings.zonesOutside = zonesOutside.sorted() }
    for entry in try store.outbox() where !off.contains(entry.key.zone.text) {
      switch entry.state {
      case .waiting, .sent:
        guard findings.scope.includesWrites(to: entry.key.zone) else {
          findings.waitingOutside += 1
          zonesOutside.insert(entry.key.zone)
          continue
        }
        findings.waiting += 1
        findings.waitingSince = min(findings.waitingSince ?? .max, entry.modifiedAt)
      case .parked, .asking: findings.undecided += 1
      }
    }
  }

  /// Returns the zones that are switched off. Changes in them wait because the person wants it.
  private static func zonesOff(_ text: String?) -> [String] {
    do throws(JSONFault) {
      let list = try text.map { text throws(JSONFault) in try JSONValue(parsing: text) }
      return (list?.array ?? []).compactMap { $0["zone"]?.string }
    } catch {
      return []
    }
  }

  // MARK: permissions

  /// Returns the files with a secret that others than this user own or may access.
  static func exposed(in folder: HomeFolder) -> [String] {
    let secrets = [
      "replica.sqlite", "replica.sqlite-wal", "vault.key", "vault.key.new", "wake.json",
    ]
    return secrets.filter { name in
      var status = stat()
      guard stat(folder.path + "/" + name, &status) == 0 else { return false }
      return status.st_mode & 0o077 != 0 || status.st_uid != geteuid()
    }
  }
}
