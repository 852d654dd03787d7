import LockstepModel
import LockstepStorage
import LockstepWire

/// A new account without devices, and the pairing code for its first device. A relay's owner makes
/// it for a person, through the running relay or, if none runs, directly in its store.
package struct AccountOffer: Hashable, Sendable {
  package let account: AccountID
  package let pairing: PairingOffer

  /// Draws the account's id and its code, and returns the request to commit for them. The offer is
  /// valid only after that commit.
  ///
  /// `label` is the owner's name for the account, at most `Limits.nameBytes`; `wall` is relay time.
  /// Throws if the label is too long or has control characters.
  package static func make(
    label: String, secrets: SecretSource, wall: Int64
  ) throws(Refusal) -> (AccountOffer, CommitRequest) {
    guard label.isEmpty || Name.isValid(label) else {
      throw Refusal(
        .badRequest,
        "An account's label may have at most \(Limits.nameBytes) bytes, and no control characters.")
    }
    let account = AccountID(rawValue: secrets.word())
    let (pairing, offer) = PairingCode.issue(from: secrets, wall: wall)
    let request = CommitRequest.createAccount(
      account, generation: newGeneration(secrets), label: label, device: nil, pairing: pairing)
    return (AccountOffer(account: account, pairing: offer), request)
  }

  static func newGeneration(_ secrets: SecretSource) -> UInt32 {
    UInt32(truncatingIfNeeded: secrets.word())
  }

  /// The answer to `POST /v1/admin/accounts`, and to `POST /v1/admin/accounts/{id}/pairings`.
  package func encodedBody() -> [UInt8] {
    let body: JSONValue = [
      "accountID": .string(account.text), "code": .string(pairing.code),
      "expiresAt": JSONValue(integerLiteral: pairing.expiresAt),
    ]
    return body.serialized()
  }

  /// Throws `badMessage` or `badJSON` if `body` is not such an answer.
  package static func decoded(body: [UInt8]) throws(Refusal) -> AccountOffer {
    let pairing = try PairingOffer.decoded(body: body)
    let text = try AdminBody.parsed(body)["accountID"]?.string
    guard let account = text.flatMap(AccountID.init(text:)) else {
      throw Refusal(.badMessage, "`accountID` must be an account's id.")
    }
    return AccountOffer(account: account, pairing: pairing)
  }
}
