import Lockstep
import LockstepApps
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepTerminal

/// `lockstep agent seal`: seals zones of an account that was made without sealing.
enum AgentSealCommand {
  static let isNow = CommandOption.flag(
    "now", "Seal them although other devices do not have the keys yet.")

  static let command = Command(
    name: "seal",
    summary: "Seals zones of an account whose records the relay can read until now.",
    discussion: """
      The records of the zones are saved again, sealed, and the plain ones are deleted at the \
      relay. The other devices go on meanwhile. They need the account's keys: give each a code of \
      lockstep agent pair, with lockstep agent join --code CODE, and then repeat this command. A \
      device without the keys keeps what it has, and neither reads nor changes more of these \
      zones until it gets them; --now accepts that.

      A zone that is sealed stays so. Given again for such a zone, the command takes plain records \
      that another program has saved there since. Files of the vault keep the seal that they have \
      until they change, and the devices share the key of it. The relay's backups, and what its \
      owner has read, still have what was saved before. New accounts are sealed from the \
      beginning, but those of lockstep agent join --new --plain.
      """,
    options: [isNow.entry] + AgentApp.options,
    operands: Command.Operands(
      "ZONE", "A zone, such as Memos.", counts: 1...Limits.scopeZones,
      known: .words(AppCatalog.all.map(\.zone.text).sorted()))
  ) { arguments throws(CommandFailure) in
    let zones = try zones(arguments.operands)
    return try AgentCommand.inHome(arguments) { session throws(CommandFailure) in
      let scope = try session.scope()
      guard scope == .everything else {
        throw CommandFailure(
          localized(
            "this device was paired for {scope}: seal zones on a device with the "
              + "whole account", ["scope": RowText.line(scope.summary)]))
      }
      let sealing = try ZoneSealing(session, Progress())
      try refuseUnknown(zones, sealing)
      let keys = try sealing.keys()
      let without = try sealing.devicesWithoutKeys(zones)
      let isReady = without.wholeAccount.isEmpty || arguments[isNow]
      let outcomes = isReady ? try sealing.seal(zones, keys) : []
      if arguments[AgentCommand.json] {
        _ = try TerminalOutput.printed(json(outcomes, without, keys).text)
      } else if isReady {
        try printed(outcomes, without)
      } else {
        _ = try TerminalOutput.printed(advice(without.wholeAccount, zones, keys, session.folder))
      }
      return isReady && outcomes.allSatisfy { $0.remaining == 0 } ? .success : .failure
    }
  }

  private static func zones(_ operands: [String]) throws(CommandFailure) -> [Name] {
    var zones: Set<Name> = []
    for text in operands {
      guard let zone = Name(text) else {
        throw CommandFailure(
          localized("{name} is not a zone's name", ["name": RowText.line(text)]), exitCode: .usage)
      }
      guard !DeviceKeys.plainZones.contains(zone) else {
        throw CommandFailure(
          localized(
            "zone {zone} is where devices give each other keys: its records are "
              + "sealed", ["zone": zone.text]))
      }
      zones.insert(zone)
    }
    return zones.sorted()
  }

  /// A zone that no app uses and that has no records is misspelt.
  private static func refuseUnknown(
    _ zones: [Name], _ sealing: ZoneSealing
  ) throws(CommandFailure) {
    let known = AppCatalog.all.map(\.zone)
    for zone in zones where !known.contains(zone) {
      guard try sealing.hasRecords(zone) else {
        let names = known.filter { !DeviceKeys.plainZones.contains($0) }.map(\.text).sorted()
        throw CommandFailure(
          localized(
            "the account has no records in a zone {zone}; the apps' zones are {zones}",
            ["zone": RowText.line(zone.text), "zones": names.joined(separator: ", ")]))
      }
    }
  }

  private static func advice(
    _ devices: [Device], _ zones: [Name], _ keys: SealingKeys, _ folder: HomeFolder
  ) -> String {
    let list = devices.map { "  " + RowText.line($0.description.deviceName) }
    let names = zones.map(\.text).joined(separator: " ")
    let words = keys.current?.checkWords ?? ""
    return [
      localized("nothing is sealed yet: these devices do not have the account's keys"),
      list.joined(separator: "\n"),
      localized(
        "For each, make a code here (lockstep agent pair --home {home}), and enter it there\n"
          + "(lockstep agent join --code - --home DIR; in a browser, under Devices). Each then "
          + "shows",
        ["home": folder.path]),
      "  " + words,
      localized(
        "Remove those that are not used any more (lockstep agent revoke). Then repeat"),
      "  lockstep agent seal \(names) --home \(folder.path)",
    ].joined(separator: "\n")
  }

  private static func json(
    _ outcomes: [ZoneSealing.Outcome], _ without: ZoneSealing.DevicesWithoutKeys,
    _ keys: SealingKeys
  ) -> JSONValue {
    let zones = outcomes.map { outcome -> JSONValue in
      [
        "zone": .string(outcome.zone.text),
        "sealed": .number(JSONNumber(Int64(outcome.sealed))),
        "remaining": .number(JSONNumber(Int64(outcome.remaining))),
      ]
    }
    return [
      "zones": .array(zones), "words": .string(keys.current?.checkWords ?? ""),
      "withoutKeys": .array(without.wholeAccount.map { .string($0.id.text) }),
      "pairAgain": .array(without.someZones.map { .string($0.id.text) }),
    ]
  }

  private static func printed(
    _ outcomes: [ZoneSealing.Outcome], _ without: ZoneSealing.DevicesWithoutKeys
  ) throws(CommandFailure) {
    for outcome in outcomes {
      let zone = outcome.zone.text
      _ = try TerminalOutput.printed(
        localized(
          count: outcome.sealed, one: "zone {zone} is sealed: {count} record saved again",
          many: "zone {zone} is sealed: {count} records saved again", ["zone": zone]))
      guard outcome.remaining > 0 else { continue }
      TerminalOutput.writeToStandardError(
        "lockstep agent seal: "
          + localized(
            "{count} of zone {zone} are not sealed yet: the relay does not answer, or refuses them "
              + "(lockstep agent status); repeat the command",
            ["count": "\(outcome.remaining)", "zone": zone]) + "\n")
    }
    if !without.wholeAccount.isEmpty {
      let names = without.wholeAccount.map { RowText.line($0.description.deviceName) }
      _ = try TerminalOutput.printed(
        localized(
          "Still without the keys: {names}. Give the command again once they have them, for what "
            + "they may save until they hear of it.",
          ["names": names.joined(separator: ", ")]))
    }
    let names = without.someZones.map { RowText.line($0.description.deviceName) }
    guard !names.isEmpty else { return }
    _ = try TerminalOutput.printed(
      localized(
        "Pair again, for the keys of their zones: {names}",
        ["names": names.joined(separator: ", ")]))
  }
}
