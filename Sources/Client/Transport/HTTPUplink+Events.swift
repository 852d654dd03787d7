import LockstepModel
import LockstepWire

/// What comes on the stream of events that an uplink holds beside its calls.
extension HTTPUplink {
  /// Only without a stream: one that begins at `since`.
  mutating func listen(since: ChangeToken, at now: Instant, _ output: inout UplinkOutput) {
    guard !isOver else { return }
    stream.listen(since: since, at: now, &output)
  }

  mutating func streamed(_ outcomes: [StreamExchange.Outcome], _ output: inout UplinkOutput) {
    for outcome in outcomes where !isOver {
      switch outcome {
      case .event(.changes(let page)): output.tell(.page(page, .stream))
      case .event(.changed(let token)): output.tell(.hint(token))
      case .event(.unknown): break
      case .event(.error(let refusal)): ended(refusal, &output)
      case .refused(let refusal): output.tell(.fetchRefused(refusal, .stream))
      case .unreachable(let reason): fail(.unreachable, reason, &output)
      case .unanswered(let reason): fail(.rung, reason, &output)
      case .ended(let reason): fail(.lost, reason, &output)
      }
    }
  }

  /// The relay has said why it ends the stream. Where only the cursor is at fault, what is asked
  /// beside it goes on.
  private mutating func ended(_ refusal: Refusal, _ output: inout UplinkOutput) {
    stream.close(&output)
    if refusal.code.advice == .fetchFirst {
      output.tell(.fetchRefused(refusal, .stream))
    } else {
      fail(.refused(refusal), refusal.detail, &output)
    }
  }
}
