import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

/// Pairing, the list of devices, renaming and revocation.
struct DeviceTests {
  private func join(_ code: String) -> String {
    #"{"code":"\#(code)","deviceName":"B","platform":"p","appVersion":"1"}"#
  }

  @Test func aCodeLetsOneDeviceInOnce() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let client = HTTPClient(relay)
    let response = try client.call("POST", "/v1/pairings", token: first.token)
    #expect(response.status == 201)
    let offer = try PairingOffer.decoded(body: response.body)
    #expect(offer.expiresAt == relay.moment.wall + Limits.pairingMilliseconds)
    // As people type it.
    let typed = offer.code.lowercased().replacing("-", with: " ")
    let joined = try client.call("POST", "/v1/devices", join(typed))
    #expect(joined.status == 201)
    let second = try JoinAnswer.decoded(body: joined.body).credentials
    #expect(second.account == first.credentials.account)
    #expect(second.device != first.credentials.device)
    let again = try client.call("POST", "/v1/devices", join(offer.code))
    #expect(again.status == 403)
    #expect(again.code == "badPairingCode")
  }

  @Test func wrappedKeysReachTheDeviceThatJoinsAndNobodyElse() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let client = HTTPClient(relay)
    let keys = String(repeating: "wRaP", count: Limits.wrappedKeyCharacters / 4)
    // The longest names, each character written as an escape.
    let zones = (0..<Limits.scopeZones).map { number in
      let name = String(repeating: #"\u0061"#, count: Limits.nameBytes - 2) + "\(number + 10)"
      return "\"\(name)\""
    }
    let body = #"{"zones":[\#(zones.joined(separator: ","))],"wrapped":"\#(keys)"}"#
    let issued = try client.call("POST", "/v1/pairings", token: first.token, body)
    try #require(issued.status == 201)
    let code = try PairingOffer.decoded(body: issued.body).code
    let others = try [
      issued, client.call("GET", "/v1/devices", token: first.token),
      HTTPClient(relay).call("POST", "/v1/devices", join("0000-0000-0000")),
    ]
    let joined = try HTTPClient(relay).call("POST", "/v1/devices", join(code))
    #expect(joined.status == 201)
    #expect(try JoinAnswer.decoded(body: joined.body).wrapped == keys)
    let later = try [
      HTTPClient(relay).call("POST", "/v1/devices", join(code)),
      client.call("GET", "/v1/devices", token: first.token),
    ]
    for answer in others + later {
      #expect(!String(decoding: answer.body, as: UTF8.self).contains("wRaP"))
    }
  }

  @Test func aCodeDiesOfAge() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let client = HTTPClient(relay)
    let offer = try PairingOffer.decoded(
      body: client.call("POST", "/v1/pairings", token: first.token).body)
    relay.advance(Limits.pairingMilliseconds)
    let late = HTTPClient(relay)
    #expect(try late.call("POST", "/v1/devices", join(offer.code)).code == "badPairingCode")
  }

  @Test func guessesAreLimitedPerNetworkOnAllNodes() throws {
    let relay = TestRelay(nodes: 2)
    let first = try relay.newAccount()
    for guess in 0..<Limits.pairingGuessesPerAddress {
      let client = HTTPClient(relay, node: guess % 2, from: "2001:db8::\(guess)")
      #expect(try client.call("POST", "/v1/devices", join("0000-0000-0000")).status == 403)
    }
    for node in 0...1 {
      let client = HTTPClient(relay, node: node, from: "2001:db8::ff")
      let response = try client.call("POST", "/v1/devices", join("0000-0000-0000"))
      #expect(response.status == 429)
      #expect(response.headers["Retry-After"] == "60")
    }
    // Other networks are not affected, and a right code does not count.
    let elsewhere = HTTPClient(relay, node: 1, from: "198.51.100.1")
    for _ in 0...Limits.pairingGuessesPerAddress {
      let offer = try PairingOffer.decoded(
        body: elsewhere.call("POST", "/v1/pairings", token: first.token).body)
      #expect(try elsewhere.call("POST", "/v1/devices", join(offer.code)).status == 201)
    }
    relay.advance(Limits.pairingWindowMilliseconds)
    let later = HTTPClient(relay, from: "2001:db8::1")
    #expect(try later.call("POST", "/v1/devices", join("nonsense")).status == 403)
  }

  @Test func wrongCodesOfManyNetworksKeepNobodyOut() throws {
    let relay = TestRelay(nodes: 2)
    let first = try relay.newAccount()
    let networks = Limits.pairingGuessesInAll / Limits.pairingGuessesPerAddress
    for guess in 0..<Limits.pairingGuessesInAll {
      let client = HTTPClient(relay, node: guess % 2, from: "203.0.113.\(guess % networks)")
      #expect(try client.call("POST", "/v1/devices", join("0000-0000-0000")).status == 403)
    }
    let offer = try PairingOffer.decoded(
      body: HTTPClient(relay).call("POST", "/v1/pairings", token: first.token).body)
    let elsewhere = HTTPClient(relay, node: 1, from: "198.51.100.1")
    let wrong = try elsewhere.call("POST", "/v1/devices", join("0000-0000-0000"))
    #expect(wrong.status == 429)
    #expect(wrong.headers["Retry-After"] == "60")
    #expect(try elsewhere.call("POST", "/v1/devices", join(offer.code)).status == 201)
    // The networks that guessed learn nothing, not even from a right code.
    let second = try PairingOffer.decoded(
      body: HTTPClient(relay).call("POST", "/v1/pairings", token: first.token).body)
    let guesser = HTTPClient(relay, from: "203.0.113.1")
    #expect(try guesser.call("POST", "/v1/devices", join(second.code)).status == 429)
    #expect(try elsewhere.call("POST", "/v1/devices", join(second.code)).status == 201)
  }

  @Test func aCodeThatTheStoreCouldNotJudgeIsNoGuess() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let offer = try PairingOffer.decoded(
      body: HTTPClient(relay).call("POST", "/v1/pairings", token: first.token).body)
    let client = HTTPClient(relay)
    relay.commitFault = .diskFull(path: "/store")
    for _ in 0...Limits.pairingGuessesPerAddress {
      #expect(try client.call("POST", "/v1/devices", join(offer.code)).status == 503)
    }
    relay.commitFault = nil
    #expect(try client.call("POST", "/v1/devices", join(offer.code)).status == 201)
  }

  @Test func whatHasNoCodeInItIsNoGuess() throws {
    let relay = TestRelay()
    let client = HTTPClient(relay)
    for _ in 0...Limits.pairingGuessesPerAddress {
      #expect(try client.call("POST", "/v1/devices", "{}").code == "badRequest")
    }
    for _ in 0..<Limits.pairingGuessesPerAddress {
      #expect(try client.call("POST", "/v1/devices", join("no code")).code == "badPairingCode")
    }
    #expect(try client.call("POST", "/v1/devices", join("no code")).status == 429)
  }

  @Test func devicesAreListedAndRenamed() throws {
    let relay = TestRelay(nodes: 2)
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let socket = try SocketClient(relay, node: 1, as: second)
    #expect(!socket.isClosed)
    let client = HTTPClient(relay)
    let path = "/v1/devices/\(second.credentials.device.text)"
    let renamed = try client.call("PATCH", path, token: first.token, #"{"deviceName":"Tablet"}"#)
    #expect(renamed.status == 200)
    #expect(renamed.json?["deviceName"]?.string == "Tablet")
    #expect(renamed.json?["connected"]?.bool == true)
    let list = try DeviceList.decoded(
      body: client.call("GET", "/v1/devices", token: first.token).body)
    #expect(list.devices.map(\.description.deviceName).sorted() == ["A", "Tablet"])
    #expect(list.devices.map(\.connected) == [true, true])
    relay.cut(socket.id)
    relay.runUntilIdle()
    let after = try DeviceList.decoded(
      body: client.call("GET", "/v1/devices", token: first.token).body)
    let connected = after.devices.filter(\.connected).map(\.id)
    #expect(connected == [first.credentials.device])
    #expect(try client.call("PATCH", path, token: first.token, #"{"deviceName":""}"#).status == 400)
    let unknown = "/v1/devices/0000000000000001"
    #expect(
      try client.call("PATCH", unknown, token: first.token, #"{"deviceName":"x"}"#).status == 404)
    #expect(try client.call("DELETE", "/v1/devices/x", token: first.token).status == 404)
  }

  @Test func lastSeenIsWrittenAtMostOnceAMinute() throws {
    // The first node makes other commits too.
    let relay = TestRelay(nodes: 2)
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, node: 1, as: device)
    relay.advance(Limits.sightingDelayMilliseconds)
    let written = relay.entries[1].node.services.status.commits
    relay.advance(Limits.sightingMilliseconds - 1)
    #expect(relay.entries[1].node.services.status.commits == written)
    relay.advance(1)
    #expect(relay.entries[1].node.services.status.commits == written + 1)
    let seen = relay.moment.wall
    _ = try socket.all()
    guard case .devices(let devices) = try relay.store.read(.devices(device.credentials.account))
    else { return }
    #expect(devices.map(\.lastSeen) == [seen])
  }

  @Test func revocationClosesAllOfADevicesConnections() throws {
    let relay = TestRelay(nodes: 2)
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let sockets = [
      try SocketClient(relay, node: 0, as: second), try SocketClient(relay, node: 1, as: second),
    ]
    let poll = HTTPClient(relay, node: 1)
    _ = try poll.call("GET", "/v1/changes", token: second.token)
    let other = try SocketClient(relay, node: 1, as: first)
    let client = HTTPClient(relay)
    let path = "/v1/devices/\(second.credentials.device.text)"
    #expect(try client.call("DELETE", path, token: first.token).status == 204)
    for socket in sockets {
      #expect(try socket.all().isEmpty)
      #expect(socket.closeCode == 4501)
      #expect(socket.isClosed)
    }
    #expect(poll.isClosed)
    #expect(!other.isClosed)
    #expect(try client.call("DELETE", path, token: first.token).status == 404)
    #expect(try client.call("GET", "/v1/devices", token: second.token).status == 401)
    #expect(
      relay.reports.contains(
        .accountEvent(
          first.credentials.account, .deviceRevoked(second.credentials.device), label: "")))
  }

  @Test func aDeviceThatRevokesItselfGetsItsAnswer() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let client = HTTPClient(relay)
    let path = "/v1/devices/\(first.credentials.device.text)"
    #expect(try client.call("DELETE", path, token: first.token).status == 204)
    #expect(try client.call("GET", "/v1/devices", token: first.token).status == 401)
  }

  @Test func aRevocationOvertakesASignIn() throws {
    let relay = TestRelay()
    let first = try relay.newAccount()
    let second = try relay.newDevice(beside: first)
    let late = HTTPClient(relay)
    late.send("GET", "/v1/changes?wait=60", token: second.token)
    // The store has identified the device, but the node has not got the answer yet.
    #expect(relay.runRead(0))
    let answer = relay.entries[0].readEvents.removeFirst()
    let path = "/v1/devices/\(second.credentials.device.text)"
    #expect(try HTTPClient(relay).call("DELETE", path, token: first.token).status == 204)
    relay.deliver(0, answer)
    relay.runUntilIdle()
    #expect(try late.next()?.status == 401)
  }
}
