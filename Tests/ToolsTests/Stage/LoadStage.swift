import LockstepClient
import LockstepModel
import LockstepRelay
import LockstepSimulation
import LockstepTools
import LockstepWire

/// A relay and one node that loads it, in virtual time.
final class LoadStage<N: Node & ~Copyable>
where N.Order == LoadOrder, N.Report == LoadReport, N.Job == Never, N.News == Never {
  let relay: VirtualRelay
  private(set) var reports: [LoadReport] = []
  /// Number of receive events.
  private(set) var reads = 0
  private let seat: Seat<N>

  init(_ relay: VirtualRelay, _ node: consuming N) {
    self.relay = relay
    let clock = relay.clock
    seat = Seat(name: "load", outside: relay.outside, clock: { clock }, node: node)
    seat.onBytes = { [weak self] in self?.reads += 1 }
    seat.onReport = { [unowned self] in reports.append($0) }
    seat.begin()
  }

  func order(_ order: LoadOrder) { seat.handle(.ordered(order)) }

  func stop() { seat.tell(.stopping) }

  /// Advances the time until `pick` returns a value for a new report.
  func next<Result>(_ pick: (LoadReport) -> Result?) throws -> Result {
    let end = relay.outside.timeline.now + Span.seconds(60)
    while true {
      while !reports.isEmpty {
        if let result = pick(reports.removeFirst()) { return result }
      }
      guard relay.outside.timeline.step(until: end) else { break }
    }
    throw Refusal(.requestTimeout, "no such report came within a minute")
  }

  func run(seconds: Int64) {
    let end = relay.outside.timeline.now + Span.seconds(seconds)
    while relay.outside.timeline.step(until: end) {}
  }
}

extension LoadStage where N == LoadNode {
  convenience init(_ relay: VirtualRelay, _ devices: [LoadDevice]) {
    self.init(
      relay,
      LoadNode(
        devices, to: RelayAddress(host: "relay", port: 1), random: SeededRandom(seed: 3),
        at: relay.clock.moment(at: relay.outside.timeline.now)))
  }
}

extension LoadReport {
  var isReady: Void? { if case .ready = self { () } else { nil } }
  var window: LatencyHistogram? { if case .window(let it) = self { it } else { nil } }
  var result: LoadResult? { if case .done(let it) = self { it } else { nil } }
  var failure: String? { if case .failed(let it) = self { it } else { nil } }
}
