import LockstepJSON
import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Answers built from refusals and from the store's results.
struct AnswerTests {
  @Test func refusalsAreProblemsWithTheirHeaders() {
    let wait = Answer(Refusal(.overloaded, "Later.", retryAfterMilliseconds: 1_001))
    #expect(wait.status == 503)
    #expect(wait.headers["Retry-After"] == "2")
    #expect(wait.refused == .overloaded)
    #expect(
      Answer(Refusal(.badToken, "No.")).headers["WWW-Authenticate"]?.contains("error") == true)
    #expect(Answer.missingToken.headers["WWW-Authenticate"] == "Bearer realm=\"lockstep\"")
    #expect(
      Answer(Refusal(.methodNotAllowed, "No."), methods: ["GET"]).headers["Allow"] == "GET")
  }

  @Test func whatTheStoreDoesBecomesAnAnswer() throws {
    let credentials = Credentials(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "t")
    let made = try CommitResponse.account(credentials).answer(to: .done)
    #expect(made.status == 201)
    #expect(try JoinAnswer.decoded(body: made.body) == JoinAnswer(credentials))
    let address = PeerNetwork(of: .local(path: ""))
    let joined = CommitResponse.joined(credentials.device, token: "t", from: address)
    #expect(
      try JoinAnswer.decoded(
        body: joined.answer(to: .redeemed(credentials.account, .everything, wrapped: "AAAA")).body)
        == JoinAnswer(credentials, wrapped: "AAAA"))
    let revoked = CommitResponse.revoked(credentials.account, credentials.device)
    #expect(try revoked.answer(to: .done).status == 204)
  }

  @Test func anAnswerToAnotherQuestionIsOurFault() {
    #expect(throws: StoreHealth.mismatch) {
      try CommitResponse.unsubscribed.answer(to: .done)
    }
    #expect(throws: StoreHealth.mismatch) {
      try ReadResponse.zones.answer(showing: .count(1))
    }
    #expect(throws: StoreRefusals.taken) {
      try CommitResponse.unsubscribed.answer(to: .refused(StoreRefusals.taken))
    }
  }

  @Test func allLimitsAreNumbers() throws {
    let body = LimitsInForce.encodedBody(RelayConfiguration())
    let members = (try JSONValue(parsing: body).members ?? []).filter { $0.name != "isOpen" }
    #expect(members.count > 35)
    #expect(members.allSatisfy { ($0.value.int64 ?? 0) > 0 })
    #expect(Set(members.map(\.name)).count == members.count)
  }

  @Test func whatTheOwnerSetIsTold() throws {
    var configuration = RelayConfiguration()
    configuration.keepAliveMilliseconds = 1_500
    configuration.rules.historyMilliseconds = 90_000
    configuration.rules.chunkBytesPerAccount = 0
    let limits = try JSONValue(parsing: LimitsInForce.encodedBody(configuration))
    #expect(limits["keepAliveMilliseconds"]?.int64 == 1_500)
    #expect(limits["historyMilliseconds"]?.int64 == 90_000)
    #expect(limits["chunkBytesPerAccount"]?.int64 == 0)
  }
}
