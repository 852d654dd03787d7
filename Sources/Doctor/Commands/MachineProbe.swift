import Glibc
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepModel
import LockstepRelayService
import LockstepStorage
import LockstepStoragePostgres
import LockstepStorageSQLite
import LockstepWire

/// Checks this machine, and a relay's store on it.
struct MachineProbe {
  /// Store to check; nil if no relay on this machine is checked.
  let store: StoreLocation?
  let progress: Progress

  func checks() -> [DoctorCheck] {
    let limit = Self.openFiles
    let needed = store.map { _ in
      Limits.connections + Limits.uploads + Limits.ownerConnections + Limits.spareDescriptors
    }
    var checks = [DoctorCheck.openFiles(soft: limit.soft, hard: limit.hard, needed: needed)]
    switch store {
    case .folder(let folder):
      checks += [
        checkStore(in: folder), .disk(.machine, of: folder, free: Self.freeBytes(of: folder)),
      ]
    case .database(let address): checks += checkDatabase(at: address)
    case nil: break
    }
    return checks
  }

  /// Checks that all chunks exist and have the right length; does not read their bytes.
  private func checkStore(in store: String) -> DoctorCheck {
    do throws(CommandFailure) {
      if let fault = try Self.faultOfRelay(on: store) { return .noRelayStore(fault) }
      let owner = try StoreOwner.become(ofFolder: store)
      defer { owner?.end() }
      guard SQLiteZoneStore.exists(in: store) else {
        throw CommandFailure("there is no store of a relay in \(store)")
      }
      let found = try StoreInspector(
        folder: store, readsChunks: false, progress: progress,
        interruption: Interruption { false }, work: "the check of the store"
      ).run()
      return .relayStore("\(store): \(found.counts.text)", faults: found.faults.map(\.text))
    } catch {
      return .noRelayStore(error.message ?? "\(store) cannot be read")
    }
  }

  /// Returns the fault of its store that a running relay reports, or nil. The relay may have files
  /// open that no longer exist.
  private static func faultOfRelay(on store: String) throws(CommandFailure) -> String? {
    let request = HTTPCallRequest("GET", path: ["readyz"])
    let call = HTTPCall(
      request, toSocket: RelayService.controlSocket(inStore: store), at: SystemClock.moment())
    guard case .answered(let status, let body, _) = try RelayCall.outcome(of: call),
      status == RefusalCode.storeUnavailable.status
    else { return nil }
    let refusal = Refusal.decoded(problem: body, status: status)
    return refusal.code == .storeUnavailable ? refusal.detail : nil
  }

  /// Checks a database. It may be on another machine: its disk and tables need PostgreSQL's own
  /// tools.
  private func checkDatabase(at address: PostgresAddress) -> [DoctorCheck] {
    do throws(StorageError) {
      let found = try DatabaseFindings(address)
      return [
        .database(
          address.shown, server: found.server, accounts: found.accounts,
          isOlderCopy: found.isOlderCopy),
        .durability(lossy: found.lossy),
        .databaseConnections(free: found.freeConnections, of: found.connections),
      ]
    } catch {
      return [.noDatabase("\(error)")]
    }
  }

  /// Soft and hard limit of open files of a process.
  static var openFiles: (soft: Int, hard: Int) {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return (0, 0) }
    return (Int(clamping: limit.rlim_cur), Int(clamping: limit.rlim_max))
  }

  /// Returns the free bytes for this user on the folder's file system, or nil if unknown.
  static func freeBytes(of folder: String) -> Int64? {
    var space = statvfs()
    guard statvfs(folder, &space) == 0 else { return nil }
    return Int64(clamping: space.f_bavail) * Int64(clamping: space.f_frsize)
  }
}

/// Resolution of a host name by the system's resolver. Blocks until the resolver answers.
enum HostResolver {
  /// Returns literal addresses without duplicates, in the order in which they would be tried.
  static func addresses(of host: String) -> (addresses: [String], fault: String?) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, nil, &hints, &first)
    guard code == 0 else { return ([], gai_strerror(code).map { String(cString: $0) }) }
    defer { freeaddrinfo(first) }
    var addresses: [String] = []
    var next = first
    while let entry = next?.pointee {
      next = entry.ai_next
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let isRead =
        getnameinfo(
          entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        == 0
      guard isRead else { continue }
      let address = String(
        decoding: text.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
      if !addresses.contains(address) { addresses.append(address) }
    }
    return (addresses, nil)
  }
}
