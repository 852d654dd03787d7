import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

struct RouterTests {
  private func route(
    _ method: String, _ path: [String], _ query: [(String, String)] = [],
    listenerKind: Opening.ListenerKind = .public
  ) -> Router.Routing {
    Router.route(
      method: method,
      target: RequestTarget(
        path: path, query: query.map { .init(name: $0.0, value: $0.1) }), listenerKind: listenerKind
    )
  }

  @Test func namesInThePathAreTaken() {
    #expect(
      route("GET", ["v1", "zones", "a/b", "records", "*"])
        == .call(
          .signed(.record(RecordKey(zone: Name(trusted: "a/b"), name: Name(trusted: "*"))))))
    #expect(
      route("POST", ["v1", "zones", "z", "records"])
        == .call(.signed(.save(zone: Name(trusted: "z")))))
  }

  @Test func aPathWithATypingErrorGetsTheNearestOne() {
    func detail(_ path: String, _ kind: Opening.ListenerKind = .public) -> String? {
      let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
      guard case .refused(let refusal, _) = route("GET", parts, listenerKind: kind) else {
        return nil
      }
      return refusal.detail
    }
    for (path, nearest) in [
      ("v1/chnages", "/v1/changes"), ("changes", "/v1/changes"), ("v1/acounts", "/v1/accounts"),
      ("v1/zone/Todos/records", "/v1/zones/*/records"), ("v1/changes/", "/v1/changes"),
      ("v1/wake/x/verification", "/v1/wakes/*/verification"), ("helthz", "/healthz"),
    ] {
      #expect(
        detail(path)?.hasSuffix("did you mean \(nearest)?") == true,
        "\(path): \(detail(path) ?? "")")
    }
    // Neither what is far, nor what this listener does not serve, nor a long path.
    for path in [
      "v1/nothing", "metrics", "v1/admin/account", "x", "",
      String(repeating: "v1/chnages", count: 99), String(repeating: "/", count: 8_000),
    ] {
      #expect(detail(path)?.hasSuffix("check it.") == true, "\(path): \(detail(path) ?? "")")
    }
    #expect(detail("metrisc", .admin)?.hasSuffix("did you mean /metrics?") == true)
  }

  @Test func aBadNameIsRefused() {
    for name in ["", "a\u{7}", String(repeating: "x", count: Limits.nameBytes + 1)] {
      guard
        case .call(.signed(.refused(let refusal))) = route(
          "POST", ["v1", "zones", name, "records"])
      else {
        Issue.record("\(name) was taken")
        continue
      }
      #expect(refusal.code == .badName)
    }
  }

  @Test func aQueryIsReadAndClamped() {
    let query = [
      ("since", "7.3"), ("zone", "z"), ("limit", "5000"), ("wait", "600"), ("other", "x"),
    ]
    #expect(
      route("HEAD", ["v1", "changes"], query)
        == .call(
          .signed(
            .changes(
              FetchQuery(
                since: ChangeToken(generation: 7, sequence: 3), zone: Name(trusted: "z"),
                limit: Limits.pageRecords, waitMilliseconds: Limits.longPollMilliseconds)))))
  }

  @Test(arguments: [
    [("limit", "0")], [("limit", "+5")], [("limit", "1e3")], [("wait", "-1")],
    [("wait", "1.5")], [("since", "x")], [("zone", "")], [("limit", "1"), ("limit", "1")],
  ])
  func aBadQueryIsRefusedToWhomSignsIn(_ query: [(String, String)]) {
    guard case .call(.signed(.refused)) = route("GET", ["v1", "changes"], query) else {
      Issue.record("\(query) was taken")
      return
    }
  }

  @Test func manyDigitsAreTheMost() {
    let many = String(repeating: "9", count: 40)
    let most = FetchQuery(
      since: nil, zone: nil, limit: Limits.pageRecords,
      waitMilliseconds: Limits.longPollMilliseconds)
    #expect(
      route("GET", ["v1", "changes"], [("limit", many), ("wait", many)])
        == .call(.signed(.changes(most))))
  }

  @Test func nothingUnknownMatters() {
    #expect(
      route("GET", ["v1", "time"], [("x", "1"), ("x", "2")]) == .call(.unauthenticated(.time)))
  }

  @Test func aSlashTooManyIsNotFound() {
    for path in [["v1", "time", ""], ["", "v1", "time"], ["v1"], []] {
      guard case .refused(let refusal, []) = route("GET", path) else {
        Issue.record("\(path) was found")
        continue
      }
      #expect(refusal.code == .notFound)
    }
  }

  @Test func aBodyIsReadWhereTheCallHasOne() {
    #expect(Call.unauthenticated(.join).readsBody)
    #expect(Call.signed(.save(zone: Name(trusted: "z"))).bodyLimit == Limits.batchBytes)
    #expect(Call.signed(.issuePairing).readsBody && !Call.signed(.listDevices).readsBody)
    #expect(Call.socket.bodyLimit == Limits.smallBodyBytes)
  }
}
