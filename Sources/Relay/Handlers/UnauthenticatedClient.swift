import LockstepModel
import LockstepRuntime
import LockstepStorage
import LockstepWire

/// The relay's data that a call needs.
struct CallContext: Sendable {
  var configuration: RelayConfiguration
  var secrets: SecretSource
  /// Relay time, milliseconds since the Unix epoch.
  var wall: Int64
  /// The client's network, for limits.
  var address: PeerNetwork
}

/// The result of a call: an answer, or a request to the store and the builder of its answer.
enum HandlerResult: Sendable {
  case answer(Answer)
  case commit(CommitRequest, CommitResponse)
  case read(ReadRequest, ReadResponse)
  case page(ReadRequest, PageResponse)
}

/// A connection before sign-in: it may make the calls that are open to all clients.
struct UnauthenticatedClient: Sendable {
  /// Performs the call. `body`: at most `Call.bodyLimit` bytes. Throws a refusal if it is invalid.
  func perform(
    _ call: UnauthenticatedCall, body: [UInt8], in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    switch call {
    case .time:
      return .answer(Answer(status: 200, json: TimeAnswer(time: context.wall).encodedBody()))
    case .limits:
      let body = LimitsInForce.encodedBody(context.configuration)
      return .answer(Answer(status: 200, json: body))
    case .createAccount: return try createAccount(body, in: context)
    case .join: return try join(body, in: context)
    }
  }

  private func createAccount(
    _ body: [UInt8], in context: CallContext
  ) throws(Refusal) -> HandlerResult {
    guard context.configuration.isOpen else {
      throw Refusal(
        .registrationClosed,
        "This relay accepts no new accounts; ask its owner for a pairing code.")
    }
    let request = try JoinRequest.decoded(body: body, takesCode: false)
    let account = AccountID(rawValue: context.secrets.word())
    let (device, token) = UnauthenticatedClient.newDevice(request.description, context.secrets)
    let credentials = Credentials(account: account, device: device.id, token: token)
    return .commit(
      .createAccount(
        account, generation: AccountOffer.newGeneration(context.secrets), label: "", device: device,
        pairing: nil),
      .account(credentials))
  }

  private func join(_ body: [UInt8], in context: CallContext) throws(Refusal) -> HandlerResult {
    let request = try JoinRequest.decoded(body: body)
    guard let typed = request.code else {
      throw Refusal(.badRequest, "`code` must be the pairing code that another device shows.")
    }
    guard let code = PairingCode(typed: typed) else {
      return .answer(Answer(StoreRefusals.badPairingCode))
    }
    var (device, token) = UnauthenticatedClient.newDevice(request.description, context.secrets)
    device.expectedAccount = request.account
    return .commit(
      .redeemPairing(codeHash: code.hash, device: device),
      .joined(device.id, token: token, from: context.address))
  }

  private static func newDevice(
    _ description: DeviceDescription, _ secrets: SecretSource
  ) -> (NewDevice, token: String) {
    let token = DeviceToken.make(from: secrets)
    let device = NewDevice(
      id: DeviceID(rawValue: secrets.word()), description: description,
      tokenHash: DeviceToken.hash(token))
    return (device, token)
  }
}
