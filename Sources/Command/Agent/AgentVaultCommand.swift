import Glibc
import Lockstep
import LockstepApps
import LockstepClient
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepTerminal

/// `lockstep vault`: files that are kept the same on all devices.
enum AgentVaultCommand {
  static let command = Command(
    name: "vault",
    summary: "Keeps files the same on all devices, sealed: the relay cannot read them.",
    discussion: """
      An added file is watched: changes are uploaded to the account and applied on its other \
      devices, while lockstep agent run (or any command) holds the home. If two devices changed \
      it, both versions are kept, the older one as a conflict copy beside the file. Add the file \
      on every device that should have it; if it is not there yet, it is downloaded.

      In a sealed account, the account's keys seal the files too (lockstep agent key). In any \
      other one, the vault has a key of its own, which is made on the account's first device with \
      a vault and never leaves a device in the clear; other devices get it with a code of lockstep \
      agent pair, or from the recovery phrase. docs/security.md describes what the relay can still \
      see.
      """,
    subcommands: [
      add, list, status, watch, conflicts, history, forget, AgentVaultKeyCommands.unlock,
      AgentVaultKeyCommands.phrase, AgentVaultKeyCommands.restore, AgentVaultKeyCommands.newKey,
    ])

  private static let app = VaultApp().name
  private static let name = CommandOption.optional(
    "name", ValueKind.text("NAME"), "Its name in the vault; the file's own name if not given.")
  private static let isPlain = CommandOption.flag(
    "plain", "Do not encrypt it: the relay's owner can read it.")
  private static let last = CommandOption.defaulted(
    "last", ValueKind.integer(1...100_000), default: "50", "Number of events, the newest last.")

  private static let add = Command(
    name: "add", summary: "Syncs a file from now on, or downloads one of the account.",
    discussion: """
      A file that is not there yet is downloaded, if the account has one of that name. If both \
      exist with different contents, both are kept.
      """,
    options: [name.entry, isPlain.entry] + AgentApp.options,
    operands: Command.Operands("FILE", "Path of the file on this device.", known: .files)
  ) { arguments throws(CommandFailure) in
    let path = try absolute(arguments.operands[0])
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // Sync first, because the account's version of the file matters; without the relay, use local
      // state.
      _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
      if !arguments[isPlain] {
        let known = arguments[name] ?? FilePath.name(of: path)
        if try isSealed(known, session) { try VaultKeys.ensure(session) }
      }
      let request: JSONValue = [
        "do": "add", "path": .string(path), "plain": .bool(arguments[isPlain]),
      ]
      let answer = try session.send(
        .mirror(request.setting("name", to: arguments[name].map { .string($0) })))
      let wait = try VaultWait(
        AgentCommand.folder(arguments), names: [answer["name"]?.string ?? ""])
      return try printed(wait, arguments)
    }
  }

  /// Prints the state of each file. Throws if one cannot be synced.
  private static func printed(
    _ wait: VaultWait, _ arguments: Arguments
  ) throws(CommandFailure) -> ExitCode {
    if arguments[AgentCommand.json] {
      return try TerminalOutput.printed(JSONValue.array(wait.files.map(\.json)).text)
    }
    for file in wait.files {
      let name = Log.oneLine(file.name)
      switch file.state {
      case .synced:
        let size = file.size.map(ByteCount.text)
        _ = try TerminalOutput.printed(
          size.map { localized("{file} is synced, {size}", ["file": name, "size": $0]) }
            ?? localized("{file} is synced, deleted", ["file": name]))
      case .error:
        throw CommandFailure("\(name): \(file.reason ?? localized("it cannot be synced"))")
      case .unknown, .syncing, .uploading, .downloading:
        _ = try TerminalOutput.printed(localized("{file} will be synced", ["file": name]))
        let reason = Log.oneLine(file.reason ?? localized("it is not synced yet"))
        let note = localized(
          "{reason}; lockstep agent run continues to sync it", ["reason": reason])
        TerminalOutput.writeToStandardError("lockstep: \(note)\n")
      }
    }
    return .success
  }

  /// True if the account's file of that name is sealed, or if the account has no such file: a new
  /// one will be sealed.
  private static func isSealed(
    _ name: String, _ session: HomeSession
  ) throws(CommandFailure) -> Bool {
    let view = HomeView(try session.send(.show(app: app, VaultQuestion.files.json)))
    let standing = view.json["files"]?.array?.first { $0["file"]?.string == name }
    return standing?["isSealed"]?.bool ?? true
  }

  /// Returns an absolute path, because the process that holds the home may run in another folder.
  private static func absolute(_ path: String) throws(CommandFailure) -> String {
    if path.hasPrefix("/") { return path }
    guard let here = getcwd(nil, 0) else {
      throw CommandFailure(
        localized("this folder is gone; change to another one, then try again"))
    }
    defer { free(here) }
    guard let folder = String(validatingCString: here) else {
      throw CommandFailure(
        localized("this folder's name is not UTF-8; give the file's absolute path"))
    }
    return FilePath.joined(folder, path)
  }

  private static let status = Command(
    name: "status", summary: "Shows the state of each file, and why one cannot be synced.",
    discussion: """
      A file is unknown, synced, syncing, uploading, downloading, or in error. The exit code is 1 \
      if one is in error.
      """,
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      // A home that no process held has only just begun to scan.
      let patience = session.isHolder ? HomeSession.patienceMilliseconds : 0
      let wait = try VaultWait(
        AgentCommand.folder(arguments), names: nil, milliseconds: patience)
      let code: ExitCode = wait.files.contains { $0.state == .error } ? .failure : .success
      if arguments[AgentCommand.json] {
        _ = try TerminalOutput.printed(
          JSONValue.object([
            JSONMember("files", .array(wait.files.map(\.json))),
            JSONMember("status", wait.status.json),
          ]).text)
      } else {
        let sync = wait.status.line(wall: SystemClock.moment().wall)
        _ = try TerminalOutput.printed(VaultFileStatus.table(wait.files) + "\n\n" + sync)
      }
      return code
    }
  }

  private static let watch = Command(
    name: "watch",
    summary: "Shows the files live, with transfers; without a terminal, a JSON line per change.",
    discussion: HomeWatch.discussion,
    options: AgentApp.options,
    action: VaultWatch.run)

  private static let history = Command(
    name: "history",
    summary: "Shows which files were sent, received, copied on a conflict, and removed.",
    options: [last.entry] + AgentApp.options
  ) { arguments throws(CommandFailure) in
    let folder = AgentCommand.folder(arguments)
    guard folder.exists else { throw HomeSession.noHome(folder) }
    let events = try VaultHistory(home: folder).last(arguments[last])
    if arguments[AgentCommand.json] {
      return try TerminalOutput.printed(JSONValue.array(events).text)
    }
    let names = try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeAccess(of: session)
      return member.call.deviceNames(
        token: member.token, milliseconds: HomeSession.patienceMilliseconds) ?? [:]
    }
    let lines = events.map { VaultHistory.line($0, deviceNames: names) }
    return try TerminalOutput.printed(
      lines.isEmpty ? localized("nothing has happened yet") : lines.joined(separator: "\n"))
  }

  private static let forget = Command(
    name: "forget", summary: "Stops the sync of a file on this device; the file itself stays.",
    options: AgentApp.options,
    operands: Command.Operands("NAME", "Its name in the vault.")
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let request: JSONValue = ["do": "forget", "name": .string(arguments.operands[0])]
      let answer = try session.send(.mirror(request))
      if arguments[AgentCommand.json] { return try TerminalOutput.printed(answer.text) }
      return try TerminalOutput.printed(
        localized(
          "{path} is no longer synced; the file itself stays",
          ["path": Log.oneLine(answer["path"]?.string ?? "")]))
    }
  }

  private static let list = Command(
    name: "list", summary: "Shows the files that the account has.", options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentApp.show(arguments, app, VaultQuestion.files.json)
  }

  private static let conflicts = Command(
    name: "conflicts",
    summary: "Shows conflict copies; with clean, removes those that are the same as their file.",
    options: AgentApp.options,
    operands: Command.Operands(
      "clean", "Remove the copies that are identical to their file.", counts: 0...1,
      known: .words(["clean"]))
  ) { arguments throws(CommandFailure) in
    guard let word = arguments.operands.first else {
      return try AgentApp.show(arguments, app, VaultQuestion.conflicts.json)
    }
    guard word == "clean" else {
      throw CommandFailure(
        localized(
          "\u{201C}{word}\u{201D} is not an action; the only one is clean", ["word": word]),
        exitCode: .usage)
    }
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let (view, _) = try AgentApp.perform(session, app, VaultAction.clean.json)
      // Wait until the files of the copies are removed too.
      _ = try VaultWait(
        AgentCommand.folder(arguments), names: nil,
        milliseconds: HomeSession.patienceMilliseconds)
      return try TerminalOutput.printed(
        arguments[AgentCommand.json] ? view.json.text : view.text)
    }
  }
}
