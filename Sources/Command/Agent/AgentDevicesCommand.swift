import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepEventLoop
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepTerminal
import LockstepWire

/// `lockstep agent devices`: lists the account's devices as the relay reports them.
enum AgentDevicesCommand {
  static let command = Command(
    name: "devices",
    summary: "Shows the account's devices, what each may use, and when each was last connected.",
    discussion: """
      A device that was paired for some zones, or to read only, gets itself alone.
      """,
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeAccess(of: session)
      let status = HomeStatus(json: try session.send(.status))
      let list = try member.call.devices(token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(String(decoding: list.encodedBody(), as: UTF8.self))
      }
      var table = TextTable([
        (localized("DEVICE"), .left), (localized("NAME"), .left), (localized("PLATFORM"), .left),
        (localized("SCOPE"), .left), (localized("SEEN"), .left),
      ])
      let now = status.relayTime(atWall: SystemClock.moment().wall)
      for device in list.devices {
        let seen = device.connected ? localized("connected") : RowText.ago(device.lastSeen, at: now)
        table.add(
          device.id.text, RowText.line(device.description.deviceName),
          RowText.line(device.description.platform),
          RowText.line(device.scope.summary),
          device.id.text == status.device
            ? localized("{seen} (this one)", ["seen": seen]) : seen)
      }
      return try TerminalOutput.printed(
        table.text + othersNote(status.scope) + wakeNote(of: member, at: now))
    }
  }

  /// Returns a line for a device to which the relay shows no other one.
  private static func othersNote(_ scope: DeviceScope?) -> String {
    guard let scope, scope != .everything else { return "" }
    return "\n"
      + localized(
        "this device was paired for {scope}: the relay shows it no others",
        ["scope": RowText.line(scope.summary)])
  }

  /// Returns a line about the wakes of this device; empty if it has not registered for any, or the
  /// relay does not answer.
  private static func wakeNote(of member: HomeAccess, at now: Int64) -> String {
    do throws(LockstepError) {
      return try member.call.client.wakes(token: member.token).map { status in
        "\n"
          + localized(
            "wakes of this device ({id}): {state}",
            ["id": status.id.text, "state": WakeSummary(status).text(at: now)])
      }.joined()
    } catch {
      return ""
    }
  }
}

/// `lockstep agent rename`: changes the name of a device.
enum AgentRenameCommand {
  static let device = CommandOption.optional(
    "device", ValueKind.text("DEVICE"), "Another device of the account, by its id.")

  static let command = Command(
    name: "rename",
    summary: "Renames this device, or another device of the account.",
    options: [device.entry] + AgentApp.options,
    operands: Command.Operands("NAME", "The new name.")
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeAccess(of: session)
      let own = HomeStatus(json: try session.send(.status)).json["device"]?.string ?? ""
      let renamed = try member.call.rename(
        arguments[device] ?? own, to: arguments.operands[0], token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(String(decoding: renamed, as: UTF8.self))
      }
      return try TerminalOutput.printed(
        renamedText(arguments[device], RowText.line(arguments.operands[0])))
    }
  }
}

extension AgentRenameCommand {
  private static func renamedText(_ device: String?, _ name: String) -> String {
    guard let device else {
      return localized("this device is now called {name}", ["name": name])
    }
    return localized("{device} is now called {name}", ["device": device, "name": name])
  }
}

/// `lockstep agent revoke`: removes another device from the account.
enum AgentRevokeCommand {
  static let command = Command(
    name: "revoke",
    summary: "Removes another device from the account, for example if it was lost or sold.",
    discussion: """
      It is disconnected at once and receives nothing new. Its data stays on it, including the \
      keys that it has. If the account's records are sealed, this device makes new keys first, \
      which the removed one does not get: with its former keys it can read nothing that is \
      written afterwards. The vault keeps its key; docs/security.md describes the consequences.
      """,
    options: AgentApp.options,
    operands: Command.Operands("DEVICE", "Its name or its id; see lockstep agent devices.")
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeAccess(of: session)
      let call = member.call
      let status = HomeStatus(json: try session.send(.status))
      if let scope = status.scope, scope != .everything, arguments.operands[0] != status.device {
        throw CommandFailure(
          localized(
            "this device was paired for {scope}, and cannot remove others: do it "
              + "on a device with the whole account", ["scope": RowText.line(scope.summary)]))
      }
      let device = try device(
        arguments.operands[0], of: try call.devices(token: member.token).devices)
      if device.id.text == status.device {
        throw CommandFailure(localized("that is this device; remove it with lockstep agent leave"))
      }
      let hasKeys = try HomeKeys.keys(in: session.folder)?.current != nil
      // Before it is removed: if that fails, it is still listed, and the command is repeated.
      let made = hasKeys ? try NewKeys.make(session, without: [device.id]) : nil
      try call.revoke(device.id, token: member.token)
      if arguments[AgentCommand.json] {
        let json: JSONValue = ["revoked": .string(device.id.text)]
        return try TerminalOutput.printed(json.setting("newKeys", to: made?.json).text)
      }
      let name = RowText.line(device.description.deviceName)
      return try TerminalOutput.printed(
        localized(
          "{name} ({id}) was removed from this account", ["name": name, "id": device.id.text])
          + (made.map { "\n" + $0.text } ?? ""))
    }
  }

  private static func device(
    _ wanted: String, of devices: [Device]
  ) throws(CommandFailure) -> Device {
    let found = devices.filter {
      $0.id.text == wanted || $0.description.deviceName.utf8.elementsEqual(wanted.utf8)
    }
    guard let device = found.first else {
      throw CommandFailure(
        localized(
          "the account has no device \u{201C}{name}\u{201D}; see lockstep agent "
            + "devices", ["name": RowText.line(wanted)]))
    }
    guard found.count == 1 else {
      throw CommandFailure(
        localized(
          "{count} devices have that name; give the id that lockstep agent "
            + "devices shows", ["count": "\(found.count)"]))
    }
    return device
  }
}
