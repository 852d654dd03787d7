#if os(Linux)
  import LockstepClient
  import LockstepEventLoop
  import LockstepModel
  import LockstepStorage
  import LockstepStorageFiles
  import LockstepStorageSQLite

  /// Event loop of a held home: its node, and the workers of its store and of its files.
  package enum HomeGroup {
    /// Opens the home's files and socket. Blocks for file operations. The caller holds the home's
    /// lock, and runs the group.
    ///
    /// - Parameters:
    ///   - store: The home's store.
    ///   - appZones: Zones in which programs in other languages make no edits.
    ///   - editsBeforeJoining: Takes edits also before the home has joined an account.
    package static func make(
      _ folder: HomeFolder, store: sending SQLiteReplicaStore, identity: HomeIdentity?,
      apps: [any App], appZones: [Name] = [], configuration: AgentConfiguration,
      editsBeforeJoining: Bool = false, _ settings: GroupSettings<HomeReport>
    ) throws -> NodeGroup<HomeNode> {
      let group = try NodeGroup<HomeNode>(count: 1, settings)
      let replica = HomeReplica(store, apps: apps, editsBeforeJoining: editsBeforeJoining)
      try group.addCommitWorker {
        NodeGroup<HomeNode>.CommitWorker.Context(
          perform: { assignments, _ in assignments.map { (replica.perform($0.job), nil) } },
          performIdleWork: { replica.reserveLog() })
      }
      // Chunks of files have their own thread, so that no edit waits for them.
      let files = try FileChunkStore(directory: folder.chunks)
      try group.addFileWorker {
        NodeGroup<HomeNode>.FileWorker.Context(
          perform: { assignments, _ in
            assignments.map { (AgentWork.perform($0.job, on: files), nil) }
          })
      }
      let listener = try Listener.open(.local(path: folder.socket), listenerKind: .control)[0]
      try group.add(
        HomeNode(
          identity: identity, configuration: configuration, random: Entropy.seededRandom(),
          appZones: appZones, at: SystemClock.moment()),
        listeners: [listener],
        shortCommits: NodeRunner.ShortCommits(
          accepts: { $0.isShort },
          perform: { job in replica.performIfFree(job).map { ($0, nil) } },
          performIdleWork: { replica.reserveLog() }))
      return group
    }
  }
#endif
