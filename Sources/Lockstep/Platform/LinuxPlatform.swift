#if os(Linux)
  import LockstepClient
  import LockstepEventLoop
  import LockstepModel
  import LockstepRuntime
  import LockstepStorage
  import LockstepStorageSQLite
  import Synchronization

  /// The device that an engine runs on: Linux, with the event loop.
  package enum DevicePlatform {
    static let name = "linux"

    static var secrets: SecretSource { Entropy.secrets }

    static func moment() -> Moment { SystemClock.moment() }

    /// Returns the driver of a home, whose lock the caller holds.
    static func driver(
      _ folder: HomeFolder, store: sending SQLiteReplicaStore, identity: HomeIdentity?,
      apps: [any App], configuration: AgentConfiguration, trust: Trust,
      report: @escaping @Sendable (HomeReport) -> Void, ended: @escaping @Sendable () -> Void
    ) throws -> any DeviceDriver<HomeOrder> {
      var settings = GroupSettings<HomeReport> { _, told in report(told) }
      settings.isLastReport = \.isLast
      settings.trust = trust
      let group = try HomeGroup.make(
        folder, store: store, identity: identity, apps: apps, configuration: configuration,
        editsBeforeJoining: true, settings)
      return EventLoopDriver(group, ended: ended)
    }

    /// Runs one call to its end. Blocks.
    package static func outcome(
      of call: sending HTTPCall, trust: Trust
    ) throws(SystemFault) -> HTTPCallReport {
      let outcome = Mutex<HTTPCallReport?>(nil)
      var settings = GroupSettings<HTTPCallReport> { _, report in
        outcome.withLock { $0 = report }
      }
      settings.isLastReport = { _ in true }
      settings.trust = trust
      let group = try NodeGroup<HTTPCall>(count: 1, settings)
      try group.add(call)
      _ = try group.run()
      return outcome.withLock { $0 } ?? .unanswered(reason: "the call was interrupted")
    }

    /// Starts a thread for work that blocks.
    static func startThread(
      _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(SystemFault) {
      try LoopThread(name) { body() }.detach()
    }
  }
#endif
