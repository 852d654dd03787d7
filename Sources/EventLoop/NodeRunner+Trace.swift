public import LockstepWire

/// Trace for debugging: one line per event and action. Payloads of messages between nodes and
/// others are left out, because they may contain personal data or secrets; only their kind is
/// shown.
extension NodeRunner where N: ~Copyable {
  @usableFromInline
  func line(received id: ConnectionID, _ count: Int) -> String {
    prefix("<") + "received \(name(id)) \(count) bytes"
  }

  @usableFromInline
  func line(_ event: NodeEvent<N.Outcome, N.Order, N.News>) -> String {
    let words =
      switch event {
      case .opened(let id, let opening): "opened \(name(id)) \(opening.door) \(opening.peer)"
      case .drained(let id, let unsent): "drained \(name(id)) \(unsent) bytes left"
      case .holding(let id, let bytes): "holding \(name(id)) \(bytes) bytes"
      case .closed(let id, let cause): "closed \(name(id)) \(cause)"
      case .turnedAway(let reason): "turnedAway \(reason)"
      case .finished(let id, let outcome): "finished \(id.rawValue) \(kind(outcome))"
      case .ordered(let order): "ordered \(kind(order))"
      case .news(let news): "news \(kind(news))"
      case .deadlineReached: "deadlineReached"
      case .stopping: "stopping"
      }
    return prefix("<") + words
  }

  @usableFromInline
  func line(_ action: NodeAction<N.Job, N.Report, N.News>) -> String {
    let words =
      switch action {
      case .open(let id, let address): "open \(name(id)) \(address)"
      case .send(let id, let frame): "send \(name(id)) \(frame.count) bytes"
      case .multicast(let frame, let ids): "multicast \(frame.count) bytes to \(ids.count)"
      case .close(let id, let manner): "close \(name(id)) \(manner)"
      case .pauseReading(let id): "pauseReading \(name(id))"
      case .resumeReading(let id): "resumeReading \(name(id))"
      case .run(let id, let lane, let job): "run \(id.rawValue) \(lane) \(kind(job))"
      case .report(let report): "report \(kind(report))"
      case .tell(let news): "tell \(kind(news))"
      }
    return prefix(">") + words
  }

  private func prefix(_ direction: String) -> String {
    "\(moment.wall) node \(context.place) \(direction) "
  }

  private func name(_ id: ConnectionID) -> String {
    if id.isOutgoing { return "out \(id.rawValue & ~(1 << 63))" }
    let registration = Poller.Registration(rawValue: id.rawValue)
    return "in \(registration.slot).\(registration.generation)"
  }

  /// Returns the name of an enum's case, without its associated values.
  private func kind(_ value: some Any) -> String {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .enum else { return "\(type(of: value))" }
    return mirror.children.first?.label ?? "\(value)"
  }
}
