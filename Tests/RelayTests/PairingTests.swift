import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWire
import Testing

@testable import LockstepRelay

struct PairingTests {
  @Test func aCodeSurvivesBeingTyped() throws {
    var random = SeededRandom(seed: 3)
    let words = (0..<50).map { _ in random.next() }
    for word in words {
      let source = SecretSource { count in
        (0..<count).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
      }
      let code = PairingCode(from: source)
      #expect(code.text.utf8.count == 14)
      #expect(PairingCode(typed: code.text) == code)
      let sloppy = code.text.lowercased().replacing("-", with: "").replacing("0", with: "o")
        .replacing("1", with: "l")
      #expect(PairingCode(typed: " \(sloppy) ")?.hash == code.hash)
    }
  }

  @Test func otherTextIsNoCode() {
    for text in [
      "", "1234", "0000-0000-000U", "0000-0000-00000", "0000-0000-000é",
      String(repeating: "0", count: 1_000),
    ] {
      #expect(PairingCode(typed: text) == nil, "\(text)")
    }
  }

  @Test func guessesAreForgottenOneByOne() {
    var guesses = PairingGuesses(RelayLimits())
    let address = PeerNetwork(of: .host("192.0.2.1", port: 1))
    var now = Instant(nanoseconds: 0)
    for _ in 0..<Limits.pairingGuessesPerAddress {
      expect(guesses.wait(for: address, at: now), is: nil)
      guesses.recordGuess(from: address, at: now)
      now = now.advanced(milliseconds: 1_000)
    }
    expect(guesses.wait(for: address, at: now), is: 55_000)
    now = now.advanced(milliseconds: 55_000)
    expect(guesses.wait(for: address, at: now), is: nil)
    guesses.recordGuess(from: address, at: now)
    expect(guesses.wait(for: address, at: now), is: 1_000)
    guesses.uncountGuess(from: address)
    expect(guesses.wait(for: address, at: now), is: nil)
  }

  @Test func manyNetworksKeepNoOtherFromGuessing() {
    var guesses = PairingGuesses(RelayLimits())
    var now = Instant(nanoseconds: 0)
    for number in 0..<Limits.pairingGuessesInAll {
      let address = PeerNetwork(of: .host("192.0.2.\(number)", port: 1))
      guesses.recordGuess(from: address, at: now)
    }
    let fresh = PeerNetwork(of: .host("198.51.100.1", port: 1))
    expect(guesses.wait(for: fresh, at: now), is: nil)
    expect(guesses.totalWait(at: now), is: nil)
    now = now.advanced(milliseconds: 1_000)
    guesses.recordGuess(from: fresh, at: now)
    expect(guesses.totalWait(at: now), is: Limits.pairingWindowMilliseconds - 1_000)
    // The code was right, and counts no more.
    guesses.uncountGuess(from: fresh)
    expect(guesses.totalWait(at: now), is: nil)
  }

  @Test func guessesThatAreRememberedAreBounded() {
    var guesses = PairingGuesses(RelayLimits())
    let now = Instant(nanoseconds: 0)
    let first = PeerNetwork(of: .host("198.51.100.1", port: 1))
    for _ in 0..<Limits.pairingGuessesPerAddress { guesses.recordGuess(from: first, at: now) }
    #expect(guesses.wait(for: first, at: now) != nil)
    for number in 0..<Limits.countedGuesses {
      let address = IPAddress(ipv4: 0x0A00_0000 + UInt32(number))
      guesses.recordGuess(from: PeerNetwork(of: address), at: now)
    }
    expect(guesses.wait(for: first, at: now), is: nil)
    let later = now.advanced(milliseconds: Limits.pairingWindowMilliseconds)
    expect(guesses.totalWait(at: later), is: nil)
  }

  @Test func onlyTheHashOfATokenIsKept() {
    let token = DeviceToken.make(from: SecretSource { Array(repeating: 0xFF, count: $0) })
    #expect(token == String(repeating: "_", count: 42) + "8")
    #expect(DeviceToken.hash(token) == SHA256.hash(Array(token.utf8)))
  }
}
