import LockstepModel
import LockstepWire

/// Events of the stream that an uplink holds besides its calls.
extension HTTPUplink {
  /// Opens a stream that begins at `since`; valid only without a stream.
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

  /// Handles the relay's reason for ending the stream. If only the cursor is at fault, the other
  /// requests continue.
  private mutating func ended(_ refusal: Refusal, _ output: inout UplinkOutput) {
    stream.close(&output)
    if refusal.code.advice == .fetchFirst {
      output.tell(.fetchRefused(refusal, .stream))
    } else {
      fail(.refused(refusal), refusal.detail, &output)
    }
  }
}
