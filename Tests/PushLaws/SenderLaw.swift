import LockstepCrypto
import LockstepModel
import LockstepRuntime
import LockstepWebPush
import WireLaws

extension PushLaw {
  /// Each push has one outcome, and that of the push that is answered does not depend on how the
  /// network splits the answer.
  static func sender(_ bytes: [UInt8]) throws(BrokenLaw) {
    let whole = try outcome([bytes])
    for parts in [bytes.map { [$0] }, [Array(bytes.prefix(1)), Array(bytes.dropFirst())]] {
      let other = try outcome(parts)
      try expect(other == whole, "in \(parts.count) parts it means \(other), not \(whole)")
    }
  }

  /// Sends several pushes, and answers the first connection with these bytes, the others not at
  /// all. Returns the outcome of the first push.
  private static func outcome(_ parts: [[UInt8]]) throws(BrokenLaw) -> PushOutcome.Result {
    var moment = Moment(instant: Instant(nanoseconds: 0), wall: 1_772_366_400_000)
    var sender = try sender(with: 6, at: moment)
    var results: [UInt64: PushOutcome.Result] = [:]
    guard case .open(let id, _) = sender.nextAction() else { throw BrokenLaw("nothing is opened") }
    sender.opened(id, at: moment)
    for part in parts { sender.received(id, part.span.bytes, at: moment) }
    sender.closed(id, .endOfStream, at: moment)
    try expect(!sender.owns(id), "a closed connection is still owned")
    for _ in 0..<100 {
      while let action = sender.nextAction() {
        if case .open(let other, _) = action { sender.opened(other, at: moment) }
      }
      while let outcome = sender.nextOutcome() {
        let old = results.updateValue(outcome.result, forKey: outcome.id)
        try expect(old == nil, "push \(outcome.id) has two outcomes")
      }
      guard let next = sender.nextDeadline else { break }
      try expect(next > moment.instant, "the next deadline does not advance")
      moment.instant = next
      sender.expire(at: moment)
    }
    try expect(sender.isEmpty, "there is no end")
    try expect(results.count == 6, "\(results.count) of 6 pushes have outcomes")
    guard let first = results[0] else { throw BrokenLaw("the first push has no outcome") }
    return first
  }

  private static func sender(with count: UInt64, at moment: Moment) throws(BrokenLaw) -> PushSender
  {
    let secrets = SecretSource { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: $0) }
    guard let key = P256PrivateKey([UInt8](1...32)),
      let recipient = PushRecipient(publicKey: key.publicKey.bytes, auth: [UInt8](1...16)),
      var sender = PushSender(rules: PushRules(), secrets: secrets, subject: nil)
    else { throw BrokenLaw("the keys are valid") }
    sender.setKeys([(madeAt: 1, key: key)])
    for id in 0..<count {
      do throws(PushEndpointFault) {
        let endpoint = try PushEndpoint("https://push.example.net/\(id)")
        let request = PushRequest(
          id: id, endpoint: endpoint, recipient: recipient, content: [], topic: "t",
          ttlSeconds: 1, urgency: .low, keyMadeAt: 1)
        let isAccepted = sender.send(request, at: moment)
        if !isAccepted { throw PushEndpointFault.tooLong }
      } catch {
        throw BrokenLaw("push \(id) is not accepted")
      }
    }
    return sender
  }
}
