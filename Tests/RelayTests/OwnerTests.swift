import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// The owner's calls and their answers.
struct OwnerTests {
  private let account = AccountID(rawValue: 0x0123_4567_89AB_CDEF)
  private let id = "0123456789abcdef"
  private let context = CallContext(
    configuration: RelayConfiguration(),
    secrets: SecretSource { count in (0..<count).map { UInt8($0) } }, wall: 1_000,
    address: PeerNetwork(of: .local(path: "")))

  private func route(
    _ method: String, _ path: String..., query: [(String, String)] = [],
    listenerKind: Opening.ListenerKind = .control
  ) -> Router.Routing {
    Router.route(
      method: method,
      target: RequestTarget(
        path: ["v1", "admin", "accounts"] + path,
        query: query.map { .init(name: $0.0, value: $0.1) }), listenerKind: listenerKind)
  }

  @Test func eachCallHasItsPath() throws {
    let hash = try #require(ChunkHash(text: String(repeating: "ab", count: 32)))
    let most = Limits.listedAccounts
    let calls: [(Router.Routing, AdminCall)] = [
      (route("POST"), .createAccount), (route("GET"), .accounts(after: nil, limit: most)),
      (route("GET", id), .account(account)), (route("DELETE", id), .removeAccount(account)),
      (route("PUT", id, "plan"), .setPlan(account)),
      (route("POST", id, "pairings"), .issuePairing(account)),
      (route("GET", id, "devices"), .devices(account)),
      (
        route("DELETE", id, "devices", "0000000000000005"),
        .revokeDevice(account, DeviceID(rawValue: 5))
      ),
      (route("GET", id, "changes"), .changes(account, FetchQuery())),
      (route("GET", id, "chunks", hash.text), .chunk(account, hash)),
    ]
    for (routing, call) in calls { #expect(routing == .call(.owner(call))) }
    for (method, call) in [("GET", AdminCall.wakeKeys), ("POST", .addWakeKey)] {
      let target = RequestTarget(path: ["v1", "admin", "wake-keys"], query: [])
      #expect(
        Router.route(method: method, target: target, listenerKind: .control)
          == .call(.owner(call)))
      guard
        case .refused(let refusal, []) = Router.route(
          method: method, target: target, listenerKind: .public)
      else {
        Issue.record("\(method) at the public listener")
        continue
      }
      #expect(refusal.code == .notFound)
    }
  }

  @Test func thePublicDoorDoesNotLeadToThem() {
    for routing in [
      route("GET", listenerKind: .public), route("POST", listenerKind: .public),
      route("DELETE", id, listenerKind: .public), route("PUT", id, "plan", listenerKind: .public),
      route("GET", id, "changes", listenerKind: .public),
    ] {
      guard case .refused(let refusal, []) = routing else {
        Issue.record("\(routing)")
        continue
      }
      #expect(refusal.code == .notFound)
    }
  }

  @Test func whatIsWrongWithAPathIsToldToTheOwnerAlone() {
    for routing in [
      route("GET", "x", listenerKind: .admin),
      route("GET", query: [("limit", "0")], listenerKind: .admin),
    ] {
      guard case .call(let call) = routing, case .owner(.refused) = call else {
        Issue.record("\(routing)")
        continue
      }
      #expect(call.needsOwner)
    }
  }

  @Test func aListIsReadFromAPlaceOn() {
    #expect(
      route("GET", query: [("after", id), ("limit", "7")])
        == .call(.owner(.accounts(after: account, limit: 7))))
    #expect(
      route("GET", query: [("limit", "9999999")])
        == .call(.owner(.accounts(after: nil, limit: Limits.listedAccounts))))
    for query in [("after", "x"), ("after", ""), ("limit", "0"), ("limit", "-1"), ("limit", "x")] {
      guard case .refused(let refusal, _) = route("GET", query: [query]) else {
        Issue.record("\(query) was taken")
        continue
      }
      #expect(refusal.code == .badRequest)
    }
  }

  @Test func anIDThatIsNoneIsNobodys() {
    for routing in [
      route("GET", "x"), route("DELETE", ""), route("PUT", id + "0", "plan"),
      route("GET", "mum", "devices"),
    ] {
      guard case .refused(let refusal, _) = routing else {
        Issue.record("\(routing)")
        continue
      }
      #expect(refusal == StoreRefusals.unknownAccount)
    }
  }

  @Test func eachCallAsksTheStoreForOneThing() throws {
    let since = ChangeToken(generation: 1, sequence: 2)
    let reads: [(AdminCall, ReadRequest)] = [
      (.accounts(after: account, limit: 3), .accounts(after: account, limit: 3)),
      (.account(account), .account(account)), (.devices(account), .devices(account)),
      (
        .changes(account, FetchQuery(since: since, limit: 4)),
        .changes(account, since: since, zones: .all, limit: 4)
      ),
    ]
    for (call, request) in reads {
      guard case .read(request, .owner) = try Owner().perform(call, body: [], in: context) else {
        Issue.record("\(call)")
        continue
      }
    }
    let plan = Plan(zones: [Name(trusted: "memos"), Name(trusted: "timer")])
    let body = Array(#"{"zones":["timer","memos","timer"]}"#.utf8)
    let writes: [(AdminCall, CommitRequest)] = [
      (.removeAccount(account), .removeAccount(account)),
      (.setPlan(account), .setPlan(account, plan)),
    ]
    for (call, request) in writes {
      guard case .commit(request, .owner) = try Owner().perform(call, body: body, in: context)
      else {
        Issue.record("\(call)")
        continue
      }
    }
  }

  @Test func aBadBodyIsRefusedBeforeTheStoreIsAsked() {
    let tooMany = Array(repeating: "\"z\"", count: Limits.planZones + 1).joined(separator: ",")
    let bodies: [(AdminCall, String, RefusalCode)] = [
      (.createAccount, "x", .badJSON), (.createAccount, #"{"label":7}"#, .badRequest),
      (.createAccount, "{\"label\":\"\(String(repeating: "x", count: 256))\"}", .badRequest),
      (.createAccount, #"{"label":"a\u0007"}"#, .badRequest),
      (.createAccount, "[]", .badRequest), (.issuePairing(account), "7", .badRequest),
      (.setPlan(account), "", .badJSON), (.setPlan(account), "{}", .badRequest),
      (.setPlan(account), "[]", .badRequest), (.setPlan(account), #"{"zones":"z"}"#, .badRequest),
      (.setPlan(account), #"{"zones":[""]}"#, .badName),
      (.setPlan(account), #"{"zones":[7]}"#, .badName),
      (.setPlan(account), #"{"zones":[\#(tooMany)]}"#, .badRequest),
    ]
    for (call, body, code) in bodies {
      do {
        _ = try Owner().perform(call, body: Array(body.utf8), in: context)
        Issue.record("\(call) took \(body)")
      } catch {
        #expect(error.code == code, "\(call) \(body)")
      }
    }
  }

  @Test func anAnswerToAnotherQuestionIsOurFault() {
    #expect(throws: StoreHealth.mismatch) {
      try AdminCommitResponse.removed(account).answer(to: .redeemed(account, .everything))
    }
    #expect(throws: StoreHealth.mismatch) {
      try AdminReadResponse.accounts.answer(to: .count(1)) { device, _ in device }
    }
    #expect(throws: StoreRefusals.unknownAccount) {
      let refused = ReadResult.refused(StoreRefusals.unknownAccount)
      return try AdminReadResponse.account.answer(to: refused) { device, _ in device }
    }
  }

  @Test func devicesAreShownWithWhatTheStoreDoesNotKnow() throws {
    let device = Device(
      id: DeviceID(rawValue: 5),
      description: DeviceDescription(deviceName: "A", platform: "p", appVersion: "1"),
      lastSeen: 3, connected: false)
    let answer = try AdminReadResponse.devices(account).answer(to: .devices([device])) {
      device, of in
      var device = device
      device.connected = of == account
      return device
    }
    #expect(try DeviceList.decoded(body: answer.body).devices.map(\.connected) == [true])
  }
}
