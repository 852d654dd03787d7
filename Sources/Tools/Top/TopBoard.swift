import LockstepApps
import LockstepModel

/// What came back when the relay was asked for its figures.
package enum TopAnswer: Hashable, Sendable {
  /// `wall`: when that was by the relay's clock, milliseconds; nil where it did not say.
  case metrics([UInt8], wall: Int64?)
  case failed(String)
}

/// What a person knows of a relay who looks at it for a while.
package struct TopBoard: Sendable {
  /// Where the figures come from.
  package let source: String
  /// With the silences.
  package private(set) var history: TopHistory
  /// As it was when the relay last answered: what is shown, which is old while it is silent.
  package private(set) var shown: TopHistory?
  package private(set) var standing = RelayAvailability()
  /// The relay's clock when it last answered; this machine's where it did not say.
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

  /// How long the relay had been running when it last answered; nil where that is not told.
  package var uptimeSeconds: Int64? {
    guard let startedAt = shown?.newest?[.startedAt], startedAt.magnitude < 1e12 else { return nil }
    return max(0, relayWall / 1_000 - Int64(startedAt))
  }
}
