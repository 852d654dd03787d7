import LockstepApps
import LockstepModel

/// Result of a request for the relay's figures.
package enum TopAnswer: Hashable, Sendable {
  /// `wall`: time of the answer by the relay's clock, milliseconds; nil if it was not sent.
  case metrics([UInt8], wall: Int64?)
  case failed(String)
}

/// State of a relay as observed over time.
package struct TopBoard: Sendable {
  /// Source of the figures.
  package let source: String
  /// All samples, including missing answers.
  package private(set) var history: TopHistory
  /// History at the last answer. It is shown, and is out of date while the relay does not answer.
  package private(set) var shown: TopHistory?
  package private(set) var standing = RelayAvailability()
  /// The relay's clock at its last answer; this machine's clock if the relay did not send it.
  private var relayWall: Int64 = 0

  package init(source: String, everyMilliseconds: Int64) {
    self.source = source
    history = TopHistory(everyMilliseconds: everyMilliseconds)
  }

  package mutating func take(_ answer: TopAnswer, at moment: Moment) {
    switch answer {
    case .failed(let reason): fail(reason, at: moment)
    case .metrics(let text, let wall):
      do throws(MetricsFault) {
        history.add(try RelayFigures(metrics: text), at: moment.instant)
        shown = history
        relayWall = wall ?? moment.wall
        standing.answered(at: moment.wall)
      } catch {
        fail(error.explanation, at: moment)
      }
    }
  }

  private mutating func fail(_ reason: String, at moment: Moment) {
    history.add(nil, at: moment.instant)
    standing.failed(RowText.line(reason), at: moment.wall)
  }

  /// Uptime of the relay at its last answer; nil if unknown.
  package var uptimeSeconds: Int64? {
    guard let startedAt = shown?.newest?[.startedAt], startedAt.magnitude < 1e12 else { return nil }
    return max(0, relayWall / 1_000 - Int64(startedAt))
  }
}
