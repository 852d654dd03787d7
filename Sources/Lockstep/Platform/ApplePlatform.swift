#if canImport(Network)
  import Dispatch
  import LockstepClient
  import LockstepDispatchDriver
  import LockstepModel
  import LockstepRuntime
  import LockstepStorage
  import LockstepStorageFiles
  import LockstepStorageSQLite
  import Synchronization

  /// The device that an engine runs on: one of Apple, with Dispatch and Network. A home has no
  /// socket here, so no other process looks into it.
  package enum DevicePlatform {
    #if os(macOS)
      static let name = "macos"
    #else
      static let name = "ios"
    #endif

    static var secrets: SecretSource {
      SecretSource { count in
        var random = SystemRandomNumberGenerator()
        return (0..<count).map { _ in random.next() }
      }
    }

    static func moment() -> Moment { DeviceClock.moment() }

    /// Returns the driver of a home, whose lock the caller holds.
    static func driver(
      _ folder: HomeFolder, store: sending SQLiteReplicaStore, identity: HomeIdentity?,
      apps: [any App], configuration: AgentConfiguration, trust: Trust,
      report: @escaping @Sendable (HomeReport) -> Void, ended: @escaping @Sendable () -> Void
    ) throws -> any DeviceDriver<HomeOrder> {
      var replica = Replica(store: store, apps: apps, editsBeforeJoining: true)
      let files = try FileChunkStore(directory: folder.chunks)
      var random = SystemRandomNumberGenerator()
      let node = HomeNode(
        identity: identity, configuration: configuration,
        random: SeededRandom(seed: random.next()), at: DeviceClock.moment())
      return DispatchDriver(
        node,
        DriverEnvironment<HomeNode>(
          connect: { NetworkStream($0, trust, on: $1) },
          lanes: LaneWorkers(
            commit: { replica.perform($0) }, file: { AgentWork.perform($0, on: files) }),
          now: { DeviceClock.moment() }, report: report, isLastReport: \.isLast, ended: ended))
    }

    /// Runs one call to its end. Blocks.
    package static func outcome(
      of call: sending HTTPCall, trust: Trust
    ) throws(SystemFault) -> HTTPCallReport {
      let outcome = Mutex<HTTPCallReport?>(nil)
      let end = DispatchSemaphore(value: 0)
      let driver = DispatchDriver(
        call,
        DriverEnvironment<HTTPCall>(
          connect: { NetworkStream($0, trust, on: $1) }, lanes: .none,
          now: { DeviceClock.moment() },
          report: { report in outcome.withLock { $0 = report } }, isLastReport: { _ in true },
          ended: { end.signal() }))
      driver.start()
      end.wait()
      return outcome.withLock { $0 } ?? .unanswered(reason: "the call was interrupted")
    }

    /// Starts a thread for work that blocks.
    static func startThread(
      _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(SystemFault) {
      DispatchQueue(label: name).async(execute: body)
    }
  }

  package typealias Trust = NetworkTrust

  /// Failure of a certificate file.
  package enum CertificateFault: Error, CustomStringConvertible {
    case noAuthority

    package var description: String {
      "it holds no certificate in PEM form; name a file with the certificate of the authority"
    }
  }

  extension NetworkTrust {
    package init(authorities pem: [UInt8]) throws(CertificateFault) {
      guard let trust = NetworkTrust(pem: pem) else { throw .noAuthority }
      self = trust
    }
  }

  /// Failure of a system call. Those that are used here do not fail.
  package struct SystemFault: Error {}

  /// Paths of Unix sockets.
  package enum SocketPath {
    package static func of(_ name: String, in folder: String) -> String { folder + "/" + name }
  }
#endif
