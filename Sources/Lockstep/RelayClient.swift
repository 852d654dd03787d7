import LockstepClient
import LockstepLanguage
import LockstepModel
import LockstepSealing
import LockstepWire
import Synchronization

#if os(Linux)
  import LockstepEventLoop
#endif

/// Single requests to a relay. Each call blocks until the answer. A relay that an account has left
/// names its new address; that and all further calls of this client and its copies go there.
package struct RelayClient: Sendable {
  private let place: Place
  /// Trust policy for the relay's certificate, if the address uses TLS.
  package var trust: Trust

  package init(relay: RelayAddress, trust: Trust) {
    place = Place(relay)
    self.trust = trust
  }

  private final class Place: Sendable {
    let relay: Mutex<RelayAddress>
    init(_ relay: RelayAddress) { self.relay = Mutex(relay) }
  }

  /// Address of the relay: that of `init`, or the one to which the account has moved since.
  package var relay: RelayAddress { place.relay.withLock { $0 } }

  /// Returns the response, whatever its status.
  package func answer(_ request: HTTPCallRequest) throws(LockstepError) -> (
    status: Int, body: [UInt8]
  ) {
    for _ in 0...Limits.relayFollows {
      let relay = relay
      let (status, body) = try answer(request, from: relay)
      guard status == RefusalCode.accountMoved.status,
        let refusal = Refusal.problem(body, status: status), refusal.code == .accountMoved
      else { return (status, body) }
      do throws(MoveFault) {
        let next = try relay.successor(refusal)
        place.relay.withLock { $0 = next }
      } catch {
        throw .refused(reason: error.explanation(relay))
      }
    }
    throw .refused(
      reason: localized(
        "the relay at {relay} and others send each other's devices in a circle; ask their owners "
          + "where the account is", ["relay": relay.link]))
  }

  private func answer(
    _ request: HTTPCallRequest, from relay: RelayAddress
  ) throws(LockstepError) -> (status: Int, body: [UInt8]) {
    let report: HTTPCallReport
    do throws(SystemFault) {
      report = try DevicePlatform.outcome(
        of: HTTPCall(request, to: relay, at: DevicePlatform.moment()), trust: trust)
    } catch {
      throw .storage(reason: "\(error)")
    }
    switch report {
    case .answered(let status, let body, _): return (status, body)
    case .unreachable(let reason): throw .unreachable(relay: relay.url, reason: reason)
    case .untrusted(let reason): throw .untrusted(relay: relay.url, reason: reason)
    case .unanswered(let reason): throw .unanswered(relay: relay.url, reason: reason)
    }
  }

  /// Returns the body of a response with a status of 200 to 299. Throws the relay's error text for
  /// any other status.
  package func perform(_ request: HTTPCallRequest) throws(LockstepError) -> [UInt8] {
    let (status, body) = try answer(request)
    return try ownBody(body, status: status)
  }

  /// Returns the body as `body(_:status:)`. An answer that is no relay's is reported as such,
  /// except those of a proxy that does not reach its relay.
  func ownBody(_ body: [UInt8], status: Int) throws(LockstepError) -> [UInt8] {
    let isOther = (300..<500).contains(status) && ![408, 413, 429].contains(status)
    if isOther, Refusal.problem(body, status: status) == nil {
      throw .noRelay(
        address: relay.url,
        reason: localized("it answers with status {status}", ["status": "\(status)"]))
    }
    return try Self.body(body, status: status)
  }

  /// Returns the body of a response with a status of 200 to 299; otherwise throws the relay's error
  /// text.
  package static func body(_ body: [UInt8], status: Int) throws(LockstepError) -> [UInt8] {
    if (200..<300).contains(status) { return body }
    let refusal = Refusal.decoded(problem: body, status: status)
    throw refusal.code == .badToken
      ? .revoked(reason: refusal.text) : .refused(reason: refusal.text)
  }

  package func decoded<Value>(
    _ body: [UInt8], _ decode: ([UInt8]) throws(Refusal) -> Value
  ) throws(LockstepError) -> Value {
    do throws(Refusal) {
      return try decode(body)
    } catch {
      throw .noRelay(address: relay.url, reason: error.detail)
    }
  }
}

/// Calls about records, which bypass the outbox: the caller needs the result at once.
extension RelayClient {
  /// Returns nil if there is no such record, or it is deleted.
  package func record(_ name: Name, zone: Name, token: String) throws(LockstepError) -> Record? {
    let path = ["v1", "zones", zone.text, "records", name.text]
    let (status, body) = try answer(HTTPCallRequest("GET", path: path, token: token))
    if status == 404 { return nil }
    return try decoded(try Self.body(body, status: status)) { body throws(Refusal) in
      try Record.decoded(body: body)
    }
  }

  /// Saves mutations. Returns one result per mutation, in order. `isAtomic`: all of them or none.
  package func save(
    _ mutations: [Mutation], zone: Name, token: String, isAtomic: Bool = false
  ) throws(LockstepError) -> [MutationResult] {
    var random = SeededRandom(seed: DevicePlatform.secrets.word())
    let request = SaveRequest(
      id: BatchID(random: &random), zone: zone, atomic: isAtomic, mutations: mutations)
    let body = try perform(
      HTTPCallRequest(
        "POST", path: ["v1", "zones", zone.text, "records"], token: token,
        body: request.encodedBody()))
    return try decoded(body) { body throws(Refusal) in
      try SaveAnswer.decoded(body: body)
    }.results
  }

  /// Returns the relay time, in milliseconds since the Unix epoch.
  package func time() throws(LockstepError) -> Int64 {
    try decoded(try perform(HTTPCallRequest("GET", path: ["v1", "time"]))) {
      body throws(Refusal) in try TimeAnswer.decoded(body: body)
    }.time
  }
}

/// Calls about devices.
extension RelayClient {
  /// Joins the account that issued `code`, or a new account if `code` is nil.
  package func join(code: String?, deviceName: String) throws(LockstepError) -> JoinAnswer {
    let path = ["v1", code == nil ? "accounts" : "devices"]
    let body = try perform(
      HTTPCallRequest("POST", path: path, body: Self.joinBody(code, nil, deviceName)))
    return try decoded(body) { body throws(Refusal) in try JoinAnswer.decoded(body: body) }
  }

  /// Joins an account, for a home that may have the data of one already.
  ///
  /// - Parameter former: The home's credentials; nil if it has none.
  /// - Throws: `alreadyJoined` if they are still valid; `otherAccount`.
  func join(code: String?, deviceName: String, former: Credentials?) throws(LockstepError)
    -> JoinAnswer
  {
    guard let former else { return try join(code: code, deviceName: deviceName) }
    let account = former.account
    if try isMember(former) { throw .alreadyJoined(account: account.text) }
    guard let code else { throw .otherAccount(account: account.text) }
    return try join(again: account, code: code, deviceName: deviceName)
  }

  /// A device that the relay has made, and that no home has yet.
  struct NewDevice: Sendable {
    let credentials: Credentials
    let keys: JoinedKeys
  }

  /// Joins as `join(code:deviceName:former:)`, and opens the keys that come with the code.
  ///
  /// - Parameters:
  ///   - former: The home's credentials; nil if it has none.
  ///   - held: Keys that the home has.
  ///   - sealsNew: Makes keys for a new account, and for one that its owner has made and nobody has
  ///     used.
  /// - Throws: `keysNotOpened`. The relay's new device is revoked then.
  func newDevice(
    code: JoinCode?, deviceName: String, former: Credentials?, _ held: SealingKeys?,
    sealsNew: Bool
  ) throws(LockstepError) -> NewDevice {
    let joined = try join(code: code?.relayPart, deviceName: deviceName, former: former)
    let credentials = joined.credentials
    do throws(LockstepError) {
      var keys = JoinedKeys(deviceSecret: DeviceKeys.deviceSecret)
      if let code { keys.held = try DeviceKeys.opened(joined, code) }
      guard keys.held == nil, held == nil else {
        return NewDevice(credentials: credentials, keys: keys)
      }
      var isNew = code == nil
      if sealsNew, !isNew, former == nil, credentials.scope == .everything {
        isNew = try DeviceKeys.isUnused(self, token: credentials.token)
      }
      if isNew {
        keys.held = sealsNew ? DeviceKeys.make() : nil
        keys.sealed = .empty
      } else {
        keys.sealed = try DeviceKeys.sealedZones(credentials, self)
      }
      return NewDevice(credentials: credentials, keys: keys)
    } catch {
      discard(credentials)
      throw error
    }
  }

  /// Revokes a device that no home will use.
  package func discard(_ credentials: Credentials) {
    do throws(LockstepError) {
      try revoke(credentials.device, token: credentials.token)
    } catch {
      // The account lists it until another device revokes it.
    }
  }

  /// Returns false if the account has revoked the device.
  private func isMember(_ credentials: Credentials) throws(LockstepError) -> Bool {
    do throws(LockstepError) {
      _ = try devices(token: credentials.token)
      return true
    } catch {
      if case .revoked = error { return false }
      throw error
    }
  }

  /// Joins `account` again, for a home that has its data.
  ///
  /// - Throws: `otherAccount` if the code is of another account; the code stays valid then.
  package func join(
    again account: AccountID, code: String, deviceName: String
  ) throws(LockstepError) -> JoinAnswer {
    let (status, body) = try answer(
      HTTPCallRequest(
        "POST", path: ["v1", "devices"], body: Self.joinBody(code, account, deviceName)))
    if status == RefusalCode.otherAccount.status,
      Refusal.decoded(problem: body, status: status).code == .otherAccount
    {
      throw .otherAccount(account: account.text)
    }
    let joined = try decoded(try ownBody(body, status: status)) { body throws(Refusal) in
      try JoinAnswer.decoded(body: body)
    }
    guard joined.credentials.account == account else {
      // An older relay, which has used up the code. That account must not list a device that no one
      // uses.
      try revoke(joined.credentials.device, token: joined.credentials.token)
      throw .otherAccount(account: account.text)
    }
    return joined
  }

  private static func joinBody(_ code: String?, _ account: AccountID?, _ deviceName: String)
    -> [UInt8]
  {
    let description = DeviceDescription(
      deviceName: deviceName, platform: DevicePlatform.name, appVersion: LockstepVersion.current)
    return JoinRequest(code: code, account: account, description: description).encodedBody()
  }

  /// Asks for a code with which a device joins the account. An older relay ignores
  /// `request.wrapped`: the device then joins without the keys.
  ///
  /// - Throws: `refused`, also if the relay is too old to limit the new device as asked: its code
  ///   would open the whole account, and is not returned.
  package func pairingOffer(
    _ request: PairingRequest = PairingRequest(), token: String
  ) throws(LockstepError) -> PairingOffer {
    // Relays of before take no body.
    let body = request == PairingRequest() ? nil : request.encodedBody()
    let answer = try perform(
      HTTPCallRequest("POST", path: ["v1", "pairings"], token: token, body: body))
    let offer = try decoded(answer) { body throws(Refusal) in
      try PairingOffer.decoded(body: body)
    }
    // A device with the whole account gives at least this; one with less gives less.
    guard request.scope(within: .everything).contains(offer.scope) else {
      throw .refused(
        reason: localized(
          "the relay made a code for more than was asked for, which is not shown "
            + "here and expires by itself; update the relay, then try again"))
    }
    return offer
  }

  package func revoke(_ device: DeviceID, token: String) throws(LockstepError) {
    _ = try perform(HTTPCallRequest("DELETE", path: ["v1", "devices", device.text], token: token))
  }

  package func devices(
    token: String, milliseconds: Int64 = Limits.answerMilliseconds
  ) throws(LockstepError) -> DeviceList {
    var request = HTTPCallRequest("GET", path: ["v1", "devices"], token: token)
    request.deadlineMilliseconds = milliseconds
    return try decoded(try perform(request)) {
      body throws(Refusal) in try DeviceList.decoded(body: body)
    }
  }
}
