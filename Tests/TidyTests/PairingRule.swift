/// Every source file is tested by name: `X.swift` in `XTests.swift`, or its types in another test
/// file of the same room.
enum PairingRule {
  /// Files without a test of their own, with the reason.
  static let exceptions: [String: String] = [
    "Sources/lockstep/main.swift": "starts the program; tested as a process in EndToEndTests",
    "Sources/Changes/Limits.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/Limits+Accounts.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/Limits+Crowds.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/Limits+Database.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/Limits+Door.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/Limits+Moving.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/Limits+Uplink.swift": "numbers alone; each is tested where it is reached",
    "Sources/Changes/AppState.swift": "values alone; every app of AppsTests takes them",
    "Sources/Changes/Device.swift": "values alone; read and written in LinkTests",
    "Sources/Changes/EditRequest.swift": "values alone; every app of AppsTests makes them",
    "Sources/Devices/Agent/EditFailure.swift": "words alone; AgentOrderTests meets each of them",
    "Sources/Storage/ChunkStore.swift": "words alone; every store that speaks them is tested",
    "Sources/Storage/StoreMoving.swift": "words alone; every store that speaks them is tested",
    "Sources/Link/Node/Node.swift": "the seam's words; LoopTests and the simulator speak them",
    "Sources/Link/HTTP/HTTPBody.swift": "part of both parsers, and tested through them",
    "Sources/Link/HTTP/HTTPFields.swift": "part of both parsers, and tested through them",
    "Sources/Link/HTTP/HTTPLines.swift": "part of both parsers, and tested through them",
    "Sources/Link/HTTP/HTTPMessageReader.swift": "part of both parsers, and tested through them",
    "Sources/Link/HTTP/HTTPRequestLine.swift": "part of the parser, and tested through it",
    "Sources/Link/WebSocket/WebSocketHeader.swift": "part of the reader, and tested through it",
  ]

  /// Where the tests of a file, or of all that begin so, stand, if not under its own name: they are
  /// seen only through what is tested there.
  static let standsIn: [(source: String, tests: String)] = [
    ("Sources/Apps/Clipboard/", "Tests/AppsTests/Clipboard/ClipboardAppTests.swift"),
    ("Sources/Apps/Habits/", "Tests/AppsTests/Habits/HabitsAppTests.swift"),
    ("Sources/Apps/Memos/", "Tests/AppsTests/Memos/MemosAppTests.swift"),
    ("Sources/Devices/Uplink/HTTPUplink.swift", "Tests/DevicesTests/AgentTests.swift"),
    ("Sources/Devices/Pieces/PieceDesk.swift", "Tests/DevicesTests/AgentPieceTests.swift"),
    ("Sources/Devices/Pieces/PieceGate.swift", "Tests/DevicesTests/ReplicaPiecesTests.swift"),
    ("Sources/Devices/Pieces/PieceUpload.swift", "Tests/DevicesTests/AgentUploadTests.swift"),
    ("Sources/Devices/Pieces/PieceTask.swift", "Tests/DevicesTests/AgentPieceTests.swift"),
    ("Sources/Devices/Pieces/ReplicaState+", "Tests/DevicesTests/ReplicaPiecesTests.swift"),
    ("Sources/Devices/Replica/ReplicaState+", "Tests/DevicesTests/AgentFaultTests.swift"),
    ("Sources/Devices/Uplink/SocketUplink+", "Tests/DevicesTests/AgentTests.swift"),
    ("Sources/Devices/Agent/SyncEngine.swift", "Tests/DevicesTests/AgentFaultTests.swift"),
    ("Sources/Devices/Uplink/Uplink", "Tests/DevicesTests/AgentTests.swift"),
    ("Sources/Simulation/FlowLog.swift", "Tests/SimulationTests/Worlds/SeedSweepTests.swift"),
    ("Sources/Simulation/SecretDraw.swift", "Tests/SimulationTests/Worlds/SeedSweepTests.swift"),
    ("Sources/Simulation/RunHash.swift", "Tests/SimulationTests/Worlds/SeedSweepTests.swift"),
    (
      "Sources/Simulation/VirtualChannel.swift",
      "Tests/SimulationTests/Simulation/VirtualNetworkTests.swift"
    ),
    ("Sources/Simulation/VirtualRelay.swift", "Tests/ToolsTests/Budget/BudgetDayTests.swift"),
    ("Sources/Tools/People/AppPlay.swift", "Tests/ToolsTests/People/PeopleNodeTests.swift"),
    ("Sources/Tools/People/ClipboardPlay.swift", "Tests/ToolsTests/People/PeopleNodeTests.swift"),
    ("Sources/Tools/People/HabitPlay.swift", "Tests/ToolsTests/People/PeopleNodeTests.swift"),
    ("Sources/Tools/People/MemoPlay.swift", "Tests/ToolsTests/People/PeopleNodeTests.swift"),
    ("Sources/Tools/People/TimerPlay.swift", "Tests/ToolsTests/People/PeopleNodeTests.swift"),
    ("Sources/Tools/People/VaultPlay.swift", "Tests/ToolsTests/People/PeopleNodeTests.swift"),
    ("Sources/Tools/Budget/DayDevice.swift", "Tests/ToolsTests/Budget/BudgetDayTests.swift"),
    ("Sources/Tools/Top/TopTables.swift", "Tests/ToolsTests/Top/TopPageTests.swift"),
    ("Sources/lockstep/Account/", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Agent/", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Backup/Relay", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Bench", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/CommandLine/Editor.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/CommandLine/StandardInput.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Doctor/DoctorCommand.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Home/HomeExport", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Watch/DesktopNotice.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Watch/DeviceLook.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Watch/HomeWatch.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Watch/LiveWatch.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Watch/TimerPage.swift", "Tests/lockstepTests/Watch/TimerViewTests.swift"),
    ("Sources/lockstep/Top/TopScreen.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Vault/VaultMirror", "Tests/lockstepTests/Vault/VaultEngineTests.swift"),
    ("Sources/lockstep/Service/RelayAttendant.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/Service/BusThread.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/RelayCommand.swift", "Tests/EndToEndTests/StoryTests.swift"),
    (
      "Sources/StoragePostgres/CStrings.swift",
      "Tests/StoragePostgresTests/PostgresConnectionTests.swift"
    ),
    (
      "Sources/StoragePostgres/FileStatements.swift",
      "Tests/StoragePostgresTests/PostgresChunkStoreTests.swift"
    ),
    (
      "Sources/StoragePostgres/Forgetting.swift",
      "Tests/StoragePostgresTests/PostgresZoneStoreTests.swift"
    ),
    (
      "Sources/StoragePostgres/LockedAccounts.swift",
      "Tests/StoragePostgresTests/CommitRunTests.swift"
    ),
    (
      "Sources/StoragePostgres/Save",
      "Tests/StoragePostgresTests/CommitRunTests.swift"
    ),
    (
      "Sources/StoragePostgres/ChunkQueries.swift",
      "Tests/StoragePostgresTests/PostgresZoneStoreTests.swift"
    ),
    (
      "Sources/StoragePostgres/ZoneQueries.swift",
      "Tests/StoragePostgresTests/PostgresZoneStoreTests.swift"
    ),
    (
      "Sources/StoragePostgres/AccountQueries.swift",
      "Tests/StoragePostgresTests/PostgresZoneStoreTests.swift"
    ),
    (
      "Sources/StoragePostgres/StoreRow.swift",
      "Tests/StoragePostgresTests/PostgresStoreTargetTests.swift"
    ),
    ("Sources/wire-echo/", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/TraceCommand.swift", "Tests/EndToEndTests/StoryTests.swift"),
    ("Sources/lockstep/ResolveCommand.swift", "Tests/EndToEndTests/StoryTests.swift"),
  ]

  static func faults(in tree: SourceTree) -> [Fault] {
    tree.sources.filter { !$0.isPlaceholder }.compactMap { file in
      if exceptions[file.path] != nil { return nil }
      if let place = standsIn.first(where: { file.path.hasPrefix($0.source) }) {
        return tree.files.contains { $0.path == place.tests }
          ? nil
          : Fault(path: file.path, line: 1, reason: "\(place.tests), said to test it, is gone")
      }
      let tests = tree.files.filter { $0.path.hasPrefix("Tests/\(file.room)Tests/") }
      return isTested(file, by: tests)
        ? nil
        : Fault(
          path: file.path, line: 1,
          reason: "no test file of Tests/\(file.room)Tests names it or its types")
    }
  }

  static func isTested(_ file: SourceFile, by tests: [SourceFile]) -> Bool {
    let subject = String(file.stem.split(separator: "+").first ?? "")
    if tests.contains(where: { $0.stem == file.stem + "Tests" || $0.stem == subject + "Tests" }) {
      return true
    }
    let types = Set(file.declaredTypes.map(\.name))
    return tests.contains { test in
      test.text.tokens.contains { $0.kind == .word && types.contains($0.text) }
    }
  }
}
