import LockstepApps
import LockstepEventLoop
import LockstepModel
import LockstepWire

/// `lockstep agent devices`: lists the account's devices as the relay reports them.
enum AgentDevicesCommand {
  static let command = Command(
    name: "devices",
    summary: "Shows the account's devices: which are connected, and when the others last were.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeMember(of: session)
      let status = HomeStatus(json: try session.ask(.status))
      let list = try member.call.devices(token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(String(decoding: list.encodedBody(), as: UTF8.self))
      }
      var table = TextTable([
        ("DEVICE", .left), ("NAME", .left), ("PLATFORM", .left), ("SEEN", .left),
      ])
      let now = status.relayTime(atWall: SystemClock.moment().wall)
      for device in list.devices {
        let age = RowText.age(of: device.lastSeen, at: now)
        let seen = device.connected ? "connected" : age == "now" ? "just now" : age + " ago"
        table.add(
          device.id.text, RowText.line(device.description.deviceName),
          RowText.line(device.description.platform),
          device.id.text == status.device ? seen + " (this one)" : seen)
      }
      return try TerminalOutput.printed(table.text)
    }
  }
}

/// `lockstep agent rename`: changes the name of a device.
enum AgentRenameCommand {
  static let device = CommandOption.optional(
    "device", ValueKind.text("DEVICE"), "Another one of the account's devices, by its id.")

  static let command = Command(
    name: "rename",
    summary: "Gives this device another name, or another one of the account's devices.",
    options: [device.entry] + AgentApp.options,
    operands: Command.Operands("NAME", "What it is called from now on.")
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeMember(of: session)
      let own = HomeStatus(json: try session.ask(.status)).json["device"]?.string ?? ""
      let renamed = try member.call.rename(
        arguments[device] ?? own, to: arguments.operands[0], token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(String(decoding: renamed, as: UTF8.self))
      }
      return try TerminalOutput.printed(
        "\(arguments[device] ?? "this device") is called \(RowText.line(arguments.operands[0]))")
    }
  }
}

/// `lockstep agent revoke`: removes another device from the account.
enum AgentRevokeCommand {
  static let command = Command(
    name: "revoke",
    summary: "Takes another device out of the account, as when it was lost or sold.",
    discussion: """
      It is turned away at once, and gets nothing new. What it holds stays with it, the vault's \
      key too; docs/security.md tells what that means.
      """,
    options: AgentApp.options,
    operands: Command.Operands("DEVICE", "Its name or its id; see lockstep agent devices.")
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeMember(of: session)
      let call = member.call
      let status = HomeStatus(json: try session.ask(.status))
      let device = try device(
        arguments.operands[0], of: try call.devices(token: member.token).devices)
      if device.id.text == status.device {
        throw CommandFailure("that is this device; lockstep agent leave takes it out")
      }
      try call.revoke(device.id, token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(
          JSONValue.object([JSONMember("revoked", .string(device.id.text))]).text)
      }
      let name = RowText.line(device.description.deviceName)
      return try TerminalOutput.printed(
        "\(name) (\(device.id.text)) is no device of this account any more")
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
        "the account has no device \u{201C}\(RowText.line(wanted))\u{201D}; see lockstep agent "
          + "devices")
    }
    guard found.count == 1 else {
      throw CommandFailure(
        "\(found.count) devices are called so; give the id that lockstep agent devices shows")
    }
    return device
  }
}
