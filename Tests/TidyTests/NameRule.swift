/// Requires names that say what a thing is about, and forbids notes of open work in comments.
enum NameRule {
  static let banned = ["Manager", "Helper", "Helpers", "Util", "Utils", "Base", "Impl", "Data2"]

  /// Names of types that terms of the field have replaced.
  static let replaced: Set<String> = [
    "AccessNote", "AccountMovement", "AccountOffice", "AdminContinuation", "Attendant",
    "BackupShelf", "Bell", "BusBell", "CallContinuation", "CallStep", "Cast", "ChunkGate",
    "ChunkQuestion", "ClipboardHistory", "CloseTally", "CrowdBench", "CrowdBenchCommand",
    "CrowdMember", "CrowdNode", "CrowdPair", "CrowdPlan", "CrowdTable", "Desk", "DeviceLook",
    "Door", "Elsewhere", "Errand", "FileErrand", "FileLook", "FlowLog", "FormerPlace", "Gate",
    "GatePlace", "Guest", "GuestCall", "HTTPTalk", "HabitBook", "Habitat", "Hand", "HandshakeLine",
    "HeldBefore", "HeldPiece", "HomeLook", "HomeMember", "Ink", "KeptAccount", "KeptBatch",
    "KeptChunk", "KeptDevice", "KeptGap", "KeptPairing", "KeptPiece", "KeptRecord",
    "KeptSubscription", "KnownPiece", "Ladder", "Lapse", "Ledger", "LogAside", "Look", "LostPiece",
    "MachineLook", "Markup", "Meeting", "MemoShelf", "NameQuestion", "NamesNeed", "Neighbours",
    "NodeMail", "Outside", "OwnerBody", "OwnerCall", "OwnerContinuation", "OwnerDesk", "PaceBench",
    "PaceLoad", "PaceLoads", "PacePair", "PacePlan", "PaceTable", "PageGate", "PageShelf", "Parcel",
    "PendingPresses", "PieceBasket", "PieceDesk", "PieceDownload", "PieceErrand", "PieceFailure",
    "PieceFetch", "PieceFetcher", "PieceFolder", "PieceLine", "PieceNeed", "PieceOffer",
    "PiecePortion", "PieceProgress", "PieceQueries", "PieceReader", "PieceResult", "PieceTable",
    "PieceTask", "PieceTidings", "PieceTransfer", "PieceUpload", "PieceWalk", "Pulse",
    "RelayAttendant", "RelayLook", "Room", "Rover", "SaveDesk", "SaveQuestion", "Seat", "Seated",
    "SecretDraw", "SilentThreads", "SocketTalk", "Spin", "Standing", "StateBoard", "StoreMeter",
    "StorePlace", "StoreStanding", "StreamTalk", "Supervision", "Surroundings", "TimerBoard",
    "TokenGround", "Told", "TopStanding", "Trouble", "TurnedAway", "VaultShelf", "WaitingLine",
    "WakeConditions", "WakeIndex", "WakeRule", "WakeTable", "WatchPress", "Welcome", "Workplace",
  ]

  /// Names of folders that were replaced likewise.
  static let replacedFolders: Set<String> = [
    "Calls", "Changes", "Devices", "Digest", "Door", "Link", "Loop", "Neighbours", "Pages",
    "PageFiles", "Pieces", "Screen", "SignIn", "Tools", "Uplink",
  ]

  static func faults(in file: SourceFile) -> [Fault] {
    var faults: [Fault] = replacements(in: file)
    let names = file.declaredTypes + [(name: file.stem, line: 1)]
    for (name, line) in names {
      if let word = camelWords(name).first(where: { banned.contains($0) }) {
        faults.append(
          Fault(
            path: file.path, line: line,
            reason: "`\(name)`: \(word) says nothing of what it is about"))
      }
    }
    // Targets of `Sources` have a prefix, those of `Tests` have none.
    let module = file.path.hasPrefix("Sources/") ? "Lockstep" + file.room : file.room
    for (name, line) in file.declaredTypes where name == module {
      faults.append(
        Fault(
          path: file.path, line: line,
          reason: "`\(name)` has its module's name, which hides the module's other names"))
    }
    return faults + notes(in: file)
  }

  private static func replacements(in file: SourceFile) -> [Fault] {
    let types = file.declaredTypes.filter { replaced.contains($0.name) }.map {
      Fault(
        path: file.path, line: $0.line,
        reason: "`\($0.name)` was replaced by a term of the field; see docs/architecture.md")
    }
    let folders = file.path.split(separator: "/").dropLast().map(String.init)
    return types
      + folders.filter(replacedFolders.contains).map {
        Fault(path: file.path, line: 1, reason: "the folder name \($0) was replaced")
      }
  }

  private static func notes(in file: SourceFile) -> [Fault] {
    file.text.comments.compactMap { comment in
      let words = comment.text.split { !$0.isLetter }
      guard let word = words.first(where: { notes.contains(String($0)) }) else { return nil }
      return Fault(
        path: file.path, line: comment.line,
        reason: "\(word): open ends become issues, not comments")
    }
  }

  private static let notes = ["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]

  /// Folders of one machine, which no file of the package may name.
  private static let workplaces = ["/wo" + "rk/", "/Us" + "ers/", "/ho" + "me/", "/ro" + "ot/"]

  static func workplacePaths(in text: SourceTree.TextFile) -> [Fault] {
    let lines = text.content.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.enumerated().compactMap { index, line in
      guard let path = workplaces.first(where: { line.contains($0) }) else { return nil }
      return Fault(
        path: text.path, line: index + 1,
        reason: "\(path) is a folder of one machine; the package must stand anywhere")
    }
  }
}
