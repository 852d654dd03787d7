import Testing

@testable import LockstepModel

@Suite struct ChangeTokenTests {
  @Test func tokensHaveOneText() {
    let tokens: [(ChangeToken, String)] = [
      (ChangeToken(generation: 0, sequence: 0), "0.0"),
      (ChangeToken(generation: 0xABC, sequence: 12), "abc.12"),
      (ChangeToken(generation: 1, sequence: 2, zoneDigest: 0xF), "1.2.zf"),
      (ChangeToken(generation: 1, sequence: 2, pinned: 2), "1.2.p2"),
      (ChangeToken(generation: 1, sequence: 2, horizon: 2), "1.2.h2"),
      (ChangeToken(generation: 1, sequence: 2, zoneDigest: 3, horizon: 4), "1.2.z3.h4"),
      (
        ChangeToken(
          generation: .max, sequence: Limits.sequenceLimit - 1, zoneDigest: .max,
          pinned: Limits.sequenceLimit - 1, horizon: Limits.sequenceLimit - 1),
        "ffffffff.9007199254740991.zffffffff.p9007199254740991.h9007199254740991"
      ),
    ]
    for (token, text) in tokens {
      #expect(token.text == text)
      #expect(ChangeToken(text: text) == token)
      #expect(text.utf8.count <= Limits.changeTokenBytes)
    }
  }

  @Test func randomTokenSurvivesTheRoundTrip() {
    var random = SeededRandom(seed: 1)
    for _ in 0..<1_000 {
      let sequence = Int64.random(in: 0..<Limits.sequenceLimit, using: &random)
      let pinned =
        Bool.random(using: &random)
        ? Int64.random(in: sequence..<Limits.sequenceLimit, using: &random) : nil
      let token = ChangeToken(
        generation: UInt32(truncatingIfNeeded: random.next() >> (random.next() % 64)),
        sequence: sequence,
        zoneDigest: Bool.random(using: &random) ? UInt32(truncatingIfNeeded: random.next()) : nil,
        pinned: pinned,
        horizon: Bool.random(using: &random)
          ? Int64.random(in: (pinned ?? sequence)..<Limits.sequenceLimit, using: &random) : nil)
      #expect(ChangeToken(text: token.text) == token)
    }
  }

  @Test(arguments: [
    "", ".", "1", "1.", ".1", "1.1.", "1..1", "1.1.x1", "1.1.z", "1.1.p", "1.1.p1.z1",
    "1.1.z1.z1", "1.1.p1.p1", "1.1.z1.p1.p1", "1.1z1", "01.1", "1.01", "1.1.z01", "1.1.p01",
    "A.1", "1.a", "g.1", "1.-1", "1.+1", "-1.1", "1.1 ", " 1.1", "1.1\n", "1.9007199254740992",
    "1.99999999999999999999999", "1.18446744073709551621", "1.10000000000000000", "100000000.1",
    "1.5.p4", "1.1.p9007199254740992",
    "1.1.z100000000", "1.5.h4", "1.1.p3.h2", "1.1.h1.p1", "1.1.h1.z1", "1.1.h1.h1", "1.1.h", "１.1",
    "1.1.z1.",
  ]) func textThatIsNoTokenIsRefused(_ text: String) {
    #expect(ChangeToken(text: text) == nil)
  }

  @Test func textThatIsAcceptedIsTheTokensOwn() {
    var random = SeededRandom(seed: 2)
    let alphabet = Array("0123456789abfzphg.-")
    var accepted = 0
    for _ in 0..<50_000 {
      var text = String(
        (0..<Int.random(in: 1...9, using: &random)).map { _ in
          alphabet.randomElement(using: &random)!
        })
      if Bool.random(using: &random) { text = "1." + text }
      guard let token = ChangeToken(text: text) else { continue }
      accepted += 1
      #expect(token.text == text)
    }
    #expect(accepted > 100)
  }

  @Test func aTokenReachesAsFarAsAllThatItSays() {
    #expect(ChangeToken(generation: 1, sequence: 2).reach == 2)
    #expect(ChangeToken(generation: 1, sequence: 2, pinned: 3).reach == 3)
    #expect(ChangeToken(generation: 1, sequence: 2, pinned: 3, horizon: 4).reach == 4)
  }

  @Test func howFarTheAccountHadComeSaysNothingOfThePlace() {
    let token = ChangeToken(generation: 1, sequence: 2)
    var ahead = token
    ahead.horizon = 9
    #expect(token.isSamePosition(as: ahead) && ahead.isSamePosition(as: token))
    let others = [
      ChangeToken(generation: 2, sequence: 2), ChangeToken(generation: 1, sequence: 3),
      ChangeToken(generation: 1, sequence: 2, zoneDigest: 1),
      ChangeToken(generation: 1, sequence: 2, pinned: 2),
    ]
    for other in others { #expect(!token.isSamePosition(as: other)) }
  }

  @Test func whoMovesOnKeepsWhatWasPassedOver() {
    let ahead = ChangeToken(generation: 1, sequence: 2, horizon: 9)
    func reached(_ token: ChangeToken) -> ChangeToken { token.keepingHorizon(of: ahead) }
    #expect(
      reached(ChangeToken(generation: 1, sequence: 5))
        == ChangeToken(generation: 1, sequence: 5, horizon: 9))
    let unchanged = [
      ChangeToken(generation: 1, sequence: 9), ChangeToken(generation: 1, sequence: 5, horizon: 10),
      ChangeToken(generation: 2, sequence: 5), ChangeToken(generation: 1, sequence: 5, pinned: 6),
    ]
    for token in unchanged { #expect(reached(token) == token) }
    #expect(unchanged[0].keepingHorizon(of: nil) == unchanged[0])
  }

  @Test func longTextIsRefusedUnread() {
    #expect(ChangeToken(text: String(repeating: "1", count: 1_000_000)) == nil)
  }

  @Test func digestTellsZonesApart() throws {
    // Test vectors of FNV-1a.
    #expect(ChangeToken.digest(of: try #require(Name("a"))) == 0xE40C_292C)
    #expect(ChangeToken.digest(of: try #require(Name("foobar"))) == 0xBF9C_F968)
  }

  @Test func aTokenCoversWhatCameBeforeIt() {
    let token = ChangeToken(generation: 7, sequence: 3)
    #expect(token.covers(token))
    #expect(token.covers(ChangeToken(generation: 7, sequence: 2)))
    #expect(!token.covers(ChangeToken(generation: 7, sequence: 4)))
    #expect(!token.covers(ChangeToken(generation: 8, sequence: 2)))
  }
}
