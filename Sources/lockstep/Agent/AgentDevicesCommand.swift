import Apps
import Changes
import Link
import Loop

/// `lockstep agent devices`: the account's devices, as the relay knows them.
enum AgentDevicesCommand {
  static let command = Command(
    name: "devices",
    summary: "Shows the account's devices: which are connected, and when the others last were.",
    options: AgentApp.options
  ) { arguments throws(CommandFailure) in
    try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let member = try HomeMember(session.ask(.credentials))
      let own = HomeStatus(json: try session.ask(.status)).json["device"]?.string
      let list = try RelayCall(relay: member.relay).devices(token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(String(decoding: list.encodedBody(), as: UTF8.self))
      }
      var table = TextTable([
        ("DEVICE", .left), ("NAME", .left), ("PLATFORM", .left), ("SEEN", .left),
      ])
      let now = SystemClock.moment().wall
      for device in list.devices {
        let age = RowText.age(of: device.lastSeen, at: now)
        let seen = device.connected ? "connected" : age == "now" ? "just now" : age + " ago"
        table.add(
          device.id.text, RowText.line(device.description.deviceName),
          RowText.line(device.description.platform),
          device.id.text == own ? seen + " (this one)" : seen)
      }
      return try TerminalOutput.printed(table.text)
    }
  }
}

/// `lockstep agent rename`: what a device is called.
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
      let member = try HomeMember(session.ask(.credentials))
      let own = HomeStatus(json: try session.ask(.status)).json["device"]?.string ?? ""
      let renamed = try RelayCall(relay: member.relay).rename(
        arguments[device] ?? own, to: arguments.operands[0], token: member.token)
      if arguments[AgentCommand.json] {
        return try TerminalOutput.printed(String(decoding: renamed, as: UTF8.self))
      }
      return try TerminalOutput.printed(
        "\(arguments[device] ?? "this device") is called \(RowText.line(arguments.operands[0]))")
    }
  }
}
