import Foundation
import LockstepCrypto
import LockstepEventLoop
import LockstepGateway
import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import Stages
import TemporaryFolders
import Testing

@testable import Lockstep

/// A gateway in this process, on loopback.
private final class ServingGateway {
  /// Host of its endpoints, at which nothing listens.
  static let endpointHost = "localhost:9"
  let url: String
  private let group: NodeGroup<GatewayNode>

  init() throws {
    let key = try #require(P256PrivateKey([UInt8](repeating: 1, count: 32)))
    let team = try #require(APNsTeam(key: key, keyID: "A1B2C3D4E5", team: "TEAM123456"))
    let configuration = try #require(
      GatewayConfiguration(
        publicURL: try PushEndpoint("https://" + ServingGateway.endpointHost),
        topics: ["com.example.app"],
        sealingKey: [UInt8](repeating: 7, count: GatewayConfiguration.sealingKeyBytes),
        team: team))
    let listener = try Listener.open(.host("127.0.0.1", port: 0), listenerKind: .public)[0]
    guard case .host(_, let port) = listener.address else { preconditionFailure("not TCP") }
    url = "http://127.0.0.1:\(port)"
    var settings = GroupSettings<GatewayReport> { _, _ in }
    settings.isLastReport = { $0 == .stopped }
    group = try NodeGroup<GatewayNode>(count: 1, settings)
    try group.add(GatewayNode(configuration), listeners: [listener])
    try group.start()
  }

  func stop() throws {
    group.stop()
    _ = try group.waitForEnd()
  }
}

struct APNsWakesTests {
  private let token: [UInt8] = Array(0..<32)

  private func withGateway(
    _ body: (Lockstep, ServingGateway) async throws -> Void
  ) async throws {
    try await Devices.withFolders(2) { folders in
      let gateway = try ServingGateway()
      let relay = try ServingRelay(
        store: folders[0], wakes: try PushRules(allowing: [ServingGateway.endpointHost]))
      let phone = try await Devices.open(folders[1], relay)
      try await phone.createAccount(deviceName: "phone")
      try await body(phone, gateway)
      await phone.close()
      try relay.stop()
      try gateway.stop()
    }
  }

  /// Encrypts a push as the relay does.
  private func push(_ content: String, for phone: Lockstep, id: String = "app") throws -> String {
    let keys = AppWakeKeys(in: phone.engine.folder)
    let (pair, _) = try keys.keys(for: try #require(Name(id))) { [] }
    let recipient = try #require(
      PushRecipient(publicKey: pair.key.publicKey.bytes, auth: pair.auth))
    let body = try #require(
      PushMessage.encrypt(Array(content.utf8), to: recipient, secrets: Entropy.secrets))
    return Base64.encodeURL(body)
  }

  @Test func appIsRegisteredByWayOfTheGateway() async throws {
    try await withGateway { phone, gateway in
      let app = APNsWake.apns(gateway: gateway.url, token: token, topic: "com.example.app")
      try await phone.registerWake(app)
      #expect(try await phone.wakes().map(\.id) == ["app"])
      let path = phone.engine.folder.appWakeKeys
      let before = try Data(contentsOf: URL(filePath: path))
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      // At each start: the keys stay, so a verified registration does.
      try await phone.registerWake(
        .apns(
          gateway: gateway.url, token: Data(token), topic: "com.example.app",
          environment: .production))
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
      #expect(try await phone.wakes().count == 1)
    }
  }

  @Test func pushIsDecryptedAndHandled() async throws {
    try await withGateway { phone, gateway in
      try await phone.registerWake(
        .apns(gateway: gateway.url, token: token, topic: "com.example.app"), id: "main")
      #expect(
        try await phone.handleWake(apns: try push(#"{"v":1,"t":"x"}"#, for: phone, id: "main"))
          == .nothingNew)
      // The relay compares the code; that it answers shows that it was decrypted and sent.
      await #expect {
        _ = try await phone.handleWake(apns: try push(#"{"v":1,"c":"x"}"#, for: phone, id: "main"))
      } throws: { error in
        if case LockstepError.refused = error { true } else { false }
      }
    }
  }

  @Test func pushForAnotherHomeIsRefused() async throws {
    try await withGateway { phone, _ in
      let other = try #require(P256PrivateKey([UInt8](repeating: 5, count: 32)))
      let recipient = try #require(
        PushRecipient(publicKey: other.publicKey.bytes, auth: [UInt8](repeating: 0, count: 16)))
      let body = try #require(
        PushMessage.encrypt(Array("{}".utf8), to: recipient, secrets: Entropy.secrets))
      for message in [Base64.encodeURL(body), "", "no message", "AAAA"] {
        await #expect {
          _ = try await phone.handleWake(apns: message)
        } throws: { error in
          if case LockstepError.refused = error { true } else { false }
        }
      }
    }
  }

  @Test func otherAppIsRefusedByTheGateway() async throws {
    try await withGateway { phone, gateway in
      await #expect {
        try await phone.registerWake(
          .apns(gateway: gateway.url, token: token, topic: "com.example.other"))
      } throws: { error in
        "\(error)".contains("This gateway has no key for that app")
      }
      let wakes = try await phone.wakes()
      #expect(wakes.isEmpty)
    }
  }

  @Test(arguments: ["http://push.example", "push.example", "ftp://push.example", ""])
  func addressThatIsNoGatewaysIsRefused(_ gateway: String) throws {
    #expect(throws: LockstepError.self) { try GatewayClient(gateway) }
  }

  @Test func relayWithoutWakesIsNamed() async throws {
    try await Devices.withTwo { phone, _, _ in
      await #expect {
        try await phone.registerWake(
          .apns(gateway: "http://127.0.0.1:9", token: token, topic: "com.example.app"))
      } throws: { error in
        "\(error)".contains("wakes no devices")
      }
    }
  }

  @Test func removedRegistrationHasNoKeys() async throws {
    try await withGateway { phone, gateway in
      try await phone.registerWake(
        .apns(gateway: gateway.url, token: token, topic: "com.example.app"))
      let message = try push("{}", for: phone)
      try await phone.removeWake()
      await #expect(throws: LockstepError.self) { _ = try await phone.handleWake(apns: message) }
      let path = phone.engine.folder.appWakeKeys
      try await phone.leave(discardingUnsent: true)
      #expect(!FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func refusedFifthRegistrationLeavesTheKeysOfTheOthers() async throws {
    try await withGateway { phone, gateway in
      let app = APNsWake.apns(gateway: gateway.url, token: token, topic: "com.example.app")
      let ids = ["a", "b", "c", "d"]
      for id in ids { try await phone.registerWake(app, id: id) }
      let path = phone.engine.folder.appWakeKeys
      let before = try Data(contentsOf: URL(filePath: path))
      for _ in 0..<2 {
        await #expect {
          try await phone.registerWake(app, id: "e")
        } throws: { error in
          "\(error)".contains("already has 4 registrations")
        }
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
      }
      for id in ids {
        let message = try push(#"{"v":1,"t":"x"}"#, for: phone, id: id)
        #expect(try await phone.handleWake(apns: message) == .nothingNew)
      }
      // A known one is still replaced.
      try await phone.registerWake(app, id: "a")
      #expect(try Data(contentsOf: URL(filePath: path)) == before)
    }
  }

  @Test func keysOfEndedRegistrationsMakePlaceForNewOnes() throws {
    let folder = try TemporaryFolder()
    let keys = AppWakeKeys(in: HomeFolder(path: folder.path("")))
    let names = try "abcdefgh".map { try #require(Name(String($0))) }
    var made: [PushKeys] = []
    for name in names {
      let (pair, isNew) = try keys.keys(for: name) { Array(names.prefix(2)) }
      #expect(isNew)
      made.append(pair)
    }
    // The relay knows the first two.
    for (name, pair) in zip(names.prefix(2), made) {
      let (found, isNew) = try keys.keys(for: name) { Array(names.prefix(2)) }
      #expect(!isNew && found.auth == pair.auth)
    }
    let list = try JSONValue(parsing: folder.bytes("app-wakes.json"))
    #expect(try #require(list["wakes"]?.array).count <= Limits.wakesPerDevice)
  }

  @Test func damagedFileOfKeysIsNamed() throws {
    let folder = try TemporaryFolder()
    let keys = AppWakeKeys(in: HomeFolder(path: folder.path("")))
    let name = try #require(Name("app"))
    for content in ["", "[]", "{", #"{"wakes":1}"#] {
      try folder.write(content, to: "app-wakes.json")
      #expect(throws: LockstepError.self) { try keys.keys(for: name) { [] } }
    }
  }
}
