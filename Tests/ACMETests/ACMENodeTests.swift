import LockstepACME
import LockstepCrypto
import LockstepJSON
import LockstepModel
import LockstepRuntime
import Testing

struct ACMENodeTests {
  private static let minute: Int64 = 60_000
  private static let day: Int64 = 86_400_000

  private func kinds(of jobs: [ACMEJob]) -> [String] {
    jobs.map { job in
      switch job {
      case .saveAccount: "account"
      case .saveProgress: "progress"
      case .install: "install"
      case .validate: "validate"
      case .endValidation: "end"
      }
    }
  }

  @Test func firstStartGetsACertificate() throws {
    var hand = try AuthorityInHand()
    try hand.pass(milliseconds: ACMENodeTests.minute)
    #expect(hand.isIssued && hand.faults.isEmpty)
    #expect(
      hand.requests.map { $0.method + " " + $0.target } == [
        "GET /directory", "HEAD /newNonce", "POST /newAccount", "POST /newOrder",
        "POST /order/1", "POST /authorization/1", "POST /challenge/1", "POST /authorization/1",
        "POST /order/1", "POST /finalize/1", "POST /certificate/1",
      ])
    // Each secret is stored before the authority hears of it.
    #expect(
      kinds(of: hand.jobs) == [
        "account", "progress", "account", "progress", "install", "end", "progress",
      ])
    #expect(hand.addresses == [.secure("ca.test", port: 443)])
    #expect(hand.account?.url == "https://ca.test/account/1")
    #expect(hand.progress?.failures == 0 && hand.progress?.order == nil)
    #expect(hand.requests[2].header?["jwk"] != nil && hand.requests[2].header?["kid"] == nil)
    #expect(hand.requests[3].header?["kid"]?.string == "https://ca.test/account/1")
    #expect(hand.requests[2].payload?["contact"] == ["mailto:me@example.org"])
    try hand.stop()
    #expect(hand.reports.last == .stopped && hand.node.nextDeadline == nil)
  }

  @Test func validationByTLSIsServedFromTheChallengeToTheEnd() throws {
    var hand = try AuthorityInHand(kinds: [.tlsALPN01])
    try hand.pass(milliseconds: ACMENodeTests.minute)
    #expect(hand.isIssued)
    #expect(
      kinds(of: hand.jobs) == [
        "account", "progress", "account", "progress", "validate", "install", "end", "progress",
      ])
  }

  @Test func attemptCountsAsFailedBeforeItsFirstRequest() throws {
    var hand = try AuthorityInHand()
    hand.overrides["/directory"] = .some(nil)
    try hand.pass(milliseconds: 1)
    let progress = try #require(hand.progress)
    #expect(progress.failures == 1 && progress.retryAt == AuthorityInHand.noon + 10_000)
    // The process dies here. The next one waits, and asks for nothing meanwhile.
    var stored = ACMENode.Stored()
    (stored.account, stored.progress) = (hand.account, progress)
    var next = try AuthorityInHand(stored: stored)
    try next.pass(milliseconds: 9_000)
    #expect(next.requests.isEmpty)
    #expect(next.reports == [.waits(until: AuthorityInHand.noon + 10_000, byAuthority: false)])
    try next.pass(milliseconds: ACMENodeTests.minute)
    #expect(next.isIssued)
    #expect(next.account?.key.scalar == hand.account?.key.scalar)
  }

  @Test func failuresMakeTheNextAttemptLaterAndLater() throws {
    var hand = try AuthorityInHand()
    hand.outage = .connectFailed("no route")
    try hand.pass(milliseconds: 3 * ACMENodeTests.day)
    let times = [AuthorityInHand.noon] + hand.retries
    let waits = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(Array(waits.prefix(8)) == ACMELimits.backoff)
    #expect(waits.dropFirst(8).allSatisfy { $0 == ACMELimits.backoff.last })
    #expect(waits.count == 18 && hand.faults.allSatisfy { $0 == .unreachable("no route") })
    hand.outage = nil
    try hand.retry()
    #expect(hand.isIssued == false)
    try hand.pass(milliseconds: ACMENodeTests.minute)
    #expect(hand.isIssued && hand.progress?.failures == 0)
  }

  @Test func ownerCanRetryButNotInAPauseThatTheAuthorityAskedFor() throws {
    var hand = try AuthorityInHand()
    let problem = #"{"type":"urn:ietf:params:acme:error:rateLimited","detail":"slow down"}"#
    hand.overrides["/newOrder"] = AuthorityInHand.Answer(
      status: 429, fields: ["Retry-After: 7200"], body: problem)
    try hand.pass(milliseconds: 1_000)
    #expect(hand.faults == [.refused(ACMEProblem(type: "rateLimited", detail: "slow down"))])
    let end = AuthorityInHand.noon + 7_200_000
    #expect(hand.retries == [end])
    let count = hand.requests.count
    try hand.retry()
    #expect(hand.reports.last == .waits(until: end, byAuthority: true))
    try hand.pass(milliseconds: 7_190_000)
    #expect(hand.requests.count == count)
    hand.overrides = [:]
    try hand.pass(milliseconds: ACMENodeTests.minute)
    #expect(hand.isIssued)
  }

  @Test func pauseOfAHostileAuthorityHasALimit() throws {
    for field in [
      "Retry-After: 99999999999999999999", "Retry-After: Tue, 31 Dec 2999 00:00:00 GMT",
    ] {
      var hand = try AuthorityInHand()
      hand.overrides["/directory"] = AuthorityInHand.Answer(status: 503, fields: [field])
      try hand.pass(milliseconds: 1)
      #expect(hand.retries == [AuthorityInHand.noon + ACMELimits.pauseMilliseconds])
    }
  }

  @Test func endlessPollsEnd() throws {
    for answer in [
      (
        "/authorization/1",
        #"{"status":"pending","identifier":{"value":"sync.example.org"},"#
          + #""challenges":[{"type":"http-01","url":"https://ca.test/c","token":"a","#
          + #""status":"processing"}]}"#
      ),
      ("/newOrder", #"{"type":"urn:ietf:params:acme:error:badNonce"}"#),
    ] {
      var hand = try AuthorityInHand()
      hand.overrides[answer.0] = AuthorityInHand.Answer(
        status: answer.0 == "/newOrder" ? 400 : 200, body: answer.1)
      try hand.pass(milliseconds: ACMELimits.attemptMilliseconds)
      #expect(!hand.isIssued && !hand.faults.isEmpty)
      #expect(hand.requests.count < 2 * ACMELimits.requests)
    }
  }

  @Test func silentAuthorityIsLeft() throws {
    var hand = try AuthorityInHand()
    hand.overrides["/newNonce"] = .some(nil)
    try hand.pass(milliseconds: ACMELimits.answerMilliseconds - 1)
    #expect(hand.faults.isEmpty)
    try hand.pass(milliseconds: 1)
    #expect(hand.faults == [.timedOut] && hand.closed.count == 1)
  }

  @Test func otherHostsAreNeverAsked() throws {
    for target in ["/newAccount", "/newOrder"] {
      for location in ["https://other.test/1", "https://ca.test:444/1", "http://ca.test/1", "/1"] {
        var hand = try AuthorityInHand()
        hand.overrides[target] = AuthorityInHand.Answer(
          status: 201, fields: ["Location: \(location)"])
        try hand.pass(milliseconds: 1_000)
        #expect(hand.faults.count == 1)
        #expect(Set(hand.addresses) == [.secure("ca.test", port: 443)])
      }
    }
  }

  @Test func answersThatAreTooLongOrMalformedEndTheAttempt() throws {
    let long = String(repeating: "a", count: ACMELimits.bodyBytes + 1)
    for body in [long, "", "[]", "{", #"{"newNonce":7}"#, String(repeating: "[", count: 9_000)] {
      var hand = try AuthorityInHand()
      hand.overrides["/directory"] = AuthorityInHand.Answer(body: body)
      try hand.pass(milliseconds: 1_000)
      #expect(hand.faults.count == 1, "\(body.prefix(20))")
      guard case .malformed = hand.faults.first else {
        Issue.record("\(hand.faults)")
        continue
      }
    }
  }

  @Test(arguments: 1...60)
  func whateverAnAuthorityAnswersTheWaitsHold(seed: UInt64) throws {
    var hand = try AuthorityInHand(kinds: [.http01, .tlsALPN01])
    hand.noise = SeededRandom(seed: seed)
    try hand.pass(milliseconds: ACMENodeTests.day)
    #expect(hand.isIssued || hand.faults.count >= 7)
    #expect(hand.requests.count < 15 * 60)
    hand.noise = nil
    try hand.pass(milliseconds: ACMENodeTests.day)
    #expect(hand.isIssued)
  }

  @Test func nothingIsSentIfTheDiskIsFull() throws {
    var hand = try AuthorityInHand()
    hand.breaksJob = { if case .saveProgress = $0 { true } else { false } }
    try hand.pass(milliseconds: 5 * ACMENodeTests.minute)
    #expect(hand.requests.isEmpty && hand.faults.allSatisfy { $0 == .storage("the disk is full") })
    // It does not try all the time either.
    #expect((2...8).contains(hand.faults.count))
  }

  @Test func orderOfAnEarlierRunIsContinued() throws {
    var hand = try AuthorityInHand()
    hand.overrides["/finalize/1"] = AuthorityInHand.Answer(status: 500)
    try hand.pass(milliseconds: 5_000)
    #expect(hand.faults == [.status(500)] && hand.progress?.order != nil)
    hand.overrides = [:]
    try hand.pass(milliseconds: 20_000)
    #expect(hand.isIssued)
    #expect(hand.requests.filter { $0.target == "/newOrder" }.count == 1)
  }

  @Test func orderThatIsGoneIsReplaced() throws {
    var hand = try AuthorityInHand()
    hand.overrides["/finalize/1"] = AuthorityInHand.Answer(status: 500)
    try hand.pass(milliseconds: 5_000)
    hand.overrides = ["/order/1": AuthorityInHand.Answer(status: 404)]
    try hand.pass(milliseconds: 10_000)
    #expect(hand.requests.filter { $0.target == "/newOrder" }.count == 2)
  }

  @Test func orderOfTheCertificateInUseIsOver() throws {
    var hand = try AuthorityInHand()
    hand.breaksJob = { if case .install = $0 { true } else { false } }
    try hand.pass(milliseconds: 5_000)
    let progress = try #require(hand.progress)
    let order = try #require(progress.order)
    // The process died after the file was stored.
    var stored = ACMENode.Stored()
    (stored.account, stored.progress) = (hand.account, progress)
    let file = try AuthorityInHand.certificate(order.key, at: AuthorityInHand.noon)
    stored.certificate = CertificateChain(file: file)
    var next = try AuthorityInHand(stored: stored)
    try next.pass(milliseconds: ACMENodeTests.day)
    #expect(next.requests.isEmpty)
    try next.pass(milliseconds: 2 * ACMENodeTests.day)
    #expect(next.isIssued && next.requests.contains { $0.target == "/newOrder" })
  }

  @Test func unknownAccountIsMadeAgainOnce() throws {
    var stored = ACMENode.Stored()
    let key = try #require(P256PrivateKey([UInt8](repeating: 5, count: 32)))
    stored.account = ACMEAccount(
      key: key, url: "https://ca.test/account/9", contact: "me@example.org")
    var hand = try AuthorityInHand(stored: stored)
    hand.overrides["/newOrder"] = AuthorityInHand.Answer(
      status: 400, body: #"{"type":"urn:ietf:params:acme:error:accountDoesNotExist"}"#)
    try hand.pass(milliseconds: 1_000)
    #expect(hand.requests.filter { $0.target == "/newAccount" }.count == 1)
    #expect(hand.faults.count == 1 && hand.account?.key.scalar == key.scalar)
  }

  @Test func certificateIsRenewedAtHalfOfAShortValidity() throws {
    var hand = try AuthorityInHand(
      stored: try AuthorityInHand.stored(certificateAt: AuthorityInHand.noon))
    // Valid for seven days, of which one is over.
    try hand.pass(milliseconds: 2 * ACMENodeTests.day)
    #expect(hand.requests.isEmpty && hand.reports.count == 1)
    guard case .kept(let end, let renewal) = hand.reports.first else {
      Issue.record("\(hand.reports)")
      return
    }
    #expect(end == AuthorityInHand.noon + 6 * ACMENodeTests.day)
    #expect((renewal - AuthorityInHand.noon) / (ACMENodeTests.day / 2) == 4)
    try hand.pass(milliseconds: ACMENodeTests.day)
    #expect(hand.isIssued)
    let count = hand.requests.count
    try hand.pass(milliseconds: ACMENodeTests.day)
    #expect(hand.requests.count == count)
  }

  @Test func ownerWhoAsksForACertificateTooEarlyIsToldOfTheOneInUse() throws {
    var hand = try AuthorityInHand(
      stored: try AuthorityInHand.stored(certificateAt: AuthorityInHand.noon))
    try hand.pass(milliseconds: ACMENodeTests.minute)
    try hand.retry()
    #expect(hand.requests.isEmpty && hand.reports.count == 2)
    #expect(hand.reports.first == hand.reports.last)
  }

  @Test(arguments: [
    (SecurityFault.unknownAuthority, "--acme-root"), (.expired, "clock"),
    (.otherName, "--acme-directory"), (.notSecure, "does not speak HTTPS"),
  ])
  func authorityThatIsNotTrustedIsNotAskedAndTheReasonHasANextStep(
    fault: SecurityFault, advice: String
  ) throws {
    var hand = try AuthorityInHand()
    hand.outage = .notTrusted(fault)
    try hand.pass(milliseconds: 1)
    #expect(hand.requests.isEmpty && hand.faults == [.notTrusted(fault)])
    #expect(hand.faults.first?.description.contains(advice) == true)
  }

  @Test func clockThatIsSetIsNoticedWithinAnHour() throws {
    var hand = try AuthorityInHand(
      stored: try AuthorityInHand.stored(certificateAt: AuthorityInHand.noon))
    try hand.pass(milliseconds: ACMENodeTests.minute)
    hand.setClock(forward: 5 * ACMENodeTests.day)
    try hand.pass(milliseconds: 61 * ACMENodeTests.minute)
    #expect(hand.isIssued)
    // Set back: a wait of the past has no more effect than the longest one.
    var late = ACMENode.Stored()
    late.progress = ACMEProgress(
      stored: Array(#"{"failures":3,"retryAt":99999999999999}"#.utf8))
    var other = try AuthorityInHand(stored: late)
    try other.pass(milliseconds: ACMELimits.pauseMilliseconds + 61 * ACMENodeTests.minute)
    #expect(other.requests.isEmpty == false)
  }

  @Test func certificateForOtherNamesIsNotKept() throws {
    let key = try #require(P256PrivateKey([UInt8](repeating: 7, count: 32)))
    let file = try #require(
      ValidationCertificate.make(
        name: "other.example", digest: [UInt8](repeating: 0, count: 32), key: key,
        at: AuthorityInHand.noon))
    var stored = ACMENode.Stored()
    stored.certificate = CertificateChain(file: file)
    #expect(stored.certificate != nil)
    var hand = try AuthorityInHand(stored: stored)
    try hand.pass(milliseconds: ACMENodeTests.minute)
    #expect(hand.isIssued)
  }

  @Test func damagedStateIsAFreshStart() {
    for text in ["", "[]", #"{"failures":-9,"retryAt":-5,"order":{"url":"x","key":"y"}}"#] {
      let progress = ACMEProgress(stored: Array(text.utf8))
      #expect(progress.failures == 0 && progress.order == nil && (progress.retryAt ?? 0) == 0)
      #expect(ACMEAccount(stored: Array(text.utf8)) == nil)
    }
  }

  // MARK: the listener without TLS

  private func text(_ hand: AuthorityInHand, _ number: UInt64) -> String {
    String(decoding: hand.answers[ConnectionID(rawValue: number)] ?? [], as: UTF8.self)
  }

  @Test func challengeIsAnsweredOnlyWhileItIsPending() throws {
    var hand = try AuthorityInHand()
    let ask = "GET /.well-known/acme-challenge/t0ken- HTTP/1.1\r\nHost: sync.example.org\r\n\r\n"
    try hand.send(ask, on: 1)
    #expect(text(hand, 1).hasPrefix("HTTP/1.1 404"))
    hand.overrides["/challenge/1"] = .some(nil)
    try hand.pass(milliseconds: 1)
    try hand.send(ask, on: 2)
    let account = try #require(hand.account)
    let thumbprint = JWS.thumbprint(of: account.key.publicKey)
    #expect(text(hand, 2).hasPrefix("HTTP/1.1 200"))
    #expect(text(hand, 2).hasSuffix("\r\n\r\nt0ken-." + thumbprint))
    try hand.send("POST" + ask.dropFirst(3), on: 3)
    #expect(text(hand, 3).hasPrefix("HTTP/1.1 404"))
    try hand.pass(milliseconds: ACMELimits.answerMilliseconds)
    try hand.send(ask, on: 4)
    #expect(text(hand, 4).hasPrefix("HTTP/1.1 404"))
    #expect(hand.closed.count >= 4)
  }

  @Test func otherRequestsAreSentToHTTPS() throws {
    var hand = try AuthorityInHand()
    for (number, host) in ["sync.example.org", "sync.example.org:80", "evil.test"].enumerated() {
      let id = UInt64(number)
      try hand.send("GET /a/b?c=d HTTP/1.1\r\nHost: \(host)\r\n\r\n", on: id)
      #expect(text(hand, id).contains("\r\nLocation: https://sync.example.org/a/b?c=d\r\n"))
    }
    // A client that says nothing is closed.
    try hand.send("GET", on: 9)
    try hand.pass(milliseconds: ACMELimits.plainMilliseconds)
    #expect(hand.closed.contains(ConnectionID(rawValue: 9)) && text(hand, 9).isEmpty)
  }

  // MARK: texts of the authority

  @Test func textsOfTheAuthorityCannotControlATerminal() throws {
    let value = try JSONValue(
      parsing: #"{"type":"\u001b[1mx","detail":"a\nb\u0007\u202e","subproblems":[{"detail":"c"}]}"#)
    let problem = try #require(ACMEProblem(value))
    #expect(problem.type == " [1mx" && problem.detail == "a b  ; c")
    let long = ACMEProblem(type: "x", detail: String(repeating: "é", count: 9_999))
    #expect(long.detail.count == ACMELimits.textCharacters)
  }

  @Test(
    arguments: [
      ("1970-01-01T00:00:10Z", 10_000), ("1970-01-01T00:00:10.999999999Z", 10_000),
      ("1970-01-02t01:00:00+01:00", 86_400_000), ("1969-12-31T23:00:00-01:00", 0),
      ("1970-02-30T00:00:00Z", nil), ("1970-01-01T24:00:00Z", nil), ("1970-01-01", nil),
      ("1970-01-01T00:00:10", nil), ("1970-01-01T00:00:10+0100", nil), ("", nil),
    ] as [(String, Int64?)])
  func timesOfRenewalInformation(text: String, milliseconds: Int64?) {
    #expect(ACMETime.milliseconds(text) == milliseconds)
  }

  @Test func renewalFollowsTheAuthorityWithinBounds() {
    var random = SeededRandom(seed: 1)
    let day = ACMENodeTests.day
    var plan = RenewalPlan(start: 0, end: 90 * day, random: &random)
    #expect((58 * day...60 * day).contains(plan.renewalTime))
    plan.propose(10 * day...11 * day, random: &random)
    #expect((10 * day...11 * day).contains(plan.renewalTime))
    plan.propose(500 * day...501 * day, random: &random)
    #expect(plan.renewalTime == 81 * day)
    plan.propose(nil, random: &random)
    #expect(plan.renewalTime == plan.usualTime)
  }
}
