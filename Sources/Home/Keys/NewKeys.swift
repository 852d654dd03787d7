import Lockstep
import LockstepClient
import LockstepCommandLine
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepWire

/// New keys that a command makes for the account of its home.
extension NewKeys {
  /// Makes new keys, and saves them for all devices but `gone`.
  package static func make(
    _ session: HomeSession, without gone: [DeviceID] = []
  ) throws(CommandFailure) -> NewKeys {
    _ = try session.send(.sync(milliseconds: HomeSession.patienceMilliseconds))
    let member = try HomeAccess(of: session)
    let own = HomeStatus(json: try session.send(.status)).device
    guard let device = DeviceID(text: own) else {
      throw CommandFailure(
        localized("the process that holds the home has another version; stop it"))
    }
    let made = try CommandFailure.wrap { () throws(LockstepError) in
      try save(
        of: session.folder, device, without: gone, member.call.client, token: member.token)
    }
    _ = try session.send(HomeKeys.request(made.keys))
    return made
  }

  package var json: JSONValue {
    [
      "words": .string(keys.current?.checkWords ?? ""), "key": .string(keys.current?.id ?? ""),
      "receivers": .array(receivers.map { .string($0.id.text) }),
      "pairAgain": .array(others.map { .string($0.id.text) }),
    ]
  }

  /// Several lines for a person.
  package var text: String {
    var lines = [
      localized("The account has new keys. All devices with them show these six words:"),
      "  " + (keys.current?.checkWords ?? ""),
    ]
    if let only = receivers.first, receivers.count == 1 {
      lines.append(
        localized("{name} gets them with the next sync.", ["name": Self.names([only])]))
    } else if !receivers.isEmpty {
      lines.append(
        localized("{names} get them with the next sync.", ["names": Self.names(receivers)]))
    }
    if !others.isEmpty {
      lines.append(
        localized(
          "{names} cannot get them: pair again with a code of lockstep agent pair.",
          ["names": Self.names(others)]))
    }
    lines.append(
      localized(
        "A phrase that was written down before is void: print lockstep agent key phrase."))
    return lines.joined(separator: "\n")
  }

  private static func names(_ devices: [Device]) -> String {
    devices.map { Log.oneLine($0.description.deviceName) }.joined(separator: ", ")
  }
}
