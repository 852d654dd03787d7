import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire
import Testing

@testable import LockstepRelay

/// Requests of unauthenticated clients and sessions to the store.
struct SessionTests {
  private let session = Session(
    account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2),
    tokenHash: TokenHash(DeviceToken.hash("token")))
  private var context: CallContext {
    CallContext(
      configuration: RelayConfiguration(),
      secrets: SecretSource { count in (0..<count).map { UInt8($0) } }, wall: 1_000,
      address: PeerNetwork(of: .local(path: "")))
  }

  @Test func aBatchIsOfItsOwnAccountAndDevice() {
    let request = save("r", at: 1, id: batch(1))
    let commit = session.saveCommit(for: request, wall: 1_000)
    #expect(commit.account == session.account)
    #expect(commit.device == session.device)
    #expect(commit.request == request)
  }

  @Test func theFutureIsRefusedRecordByRecord() {
    var request = save("a", at: 6_000, id: batch(1))
    request.mutations += save("b", at: 6_001, id: batch(1)).mutations
    request.mutations += save("c", at: Int64.max, id: batch(1)).mutations
    let tooLarge = Refusal(.recordTooLarge, "Too large.")
    request.mutations[2].refusal = tooLarge
    let commit = session.saveCommit(for: request, wall: 1_000)
    let codes = commit.request.mutations.map { $0.refusal?.code }
    #expect(codes == [nil, .clockAhead, .recordTooLarge])
    #expect(commit.request.mutations[1].refusal?.relayTime == 1_000)
    // A retry a little later is the same batch.
    #expect(commit.digest == session.saveCommit(for: request, wall: 9_000).digest)
  }

  @Test func everyQuestionNamesTheAccount() throws {
    let calls: [SignedCall] = [
      .listDevices, .record(RecordKey(zone: Name(trusted: "z"), name: Name(trusted: "r"))),
      .changes(FetchQuery()),
    ]
    for call in calls {
      let request: ReadRequest
      switch try session.perform(call, body: [], headers: HTTPHeaders(), in: context) {
      case .read(let read, _): request = read
      case .page(let page, _): request = page
      case .answer, .commit:
        Issue.record("\(call) does not read")
        continue
      }
      switch request {
      case .devices(let account), .record(let account, _), .changes(let account, _, _, _),
        .zones(let account, _, _, _), .chunk(let account, _), .namedChunks(let account, _, _):
        #expect(account == session.account)
      case .authenticate, .newestToken, .accountCount, .accounts, .account, .fileUses,
        .followAccounts, .wakes, .sleepers, .wakeKeys, .residence:
        Issue.record("\(call) reads \(request)")
      }
    }
  }

  @Test func aGuestGetsNothingWithoutTheRightWords() {
    let description = #""deviceName":"A","platform":"p","appVersion":"1""#
    let bodies: [(UnauthenticatedCall, String, RefusalCode)] = [
      (.createAccount, "{\(description)}", .registrationClosed),
      (.join, "{\(description)}", .badRequest), (.join, "{}", .badRequest),
      (.join, "{\"code\":\"x\",\(description)}", .badPairingCode), (.join, "", .badJSON),
    ]
    for (call, body, code) in bodies {
      do {
        let step = try UnauthenticatedClient().perform(call, body: Array(body.utf8), in: context)
        // A text that cannot be a code is answered, not thrown, because it was a guess.
        guard case .answer(let answer) = step else {
          Issue.record("\(call) took \(body)")
          continue
        }
        #expect(answer.refused == code, "\(call) \(body)")
      } catch {
        #expect(error.code == code, "\(call) \(body)")
      }
    }
  }
}
