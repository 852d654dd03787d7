import LockstepModel
import Testing

@testable import LockstepDashboard

/// Metrics of a relay for a test, and a board that has received some of them.
struct TopStage {
  var version = "1.2.3"
  var startedAt = 1_000.0
  var saves = 0.0
  var deliveries = 0.0
  /// Number of deliveries of up to 1 ms, of up to 10 ms, and of more.
  var lag = [0.0, 0, 0]
  var rejected = 0.0
  var devices = 3.0
  /// Additional lines.
  var more = ""

  var text: [UInt8] {
    let cumulative = lag.indices.map { lag[...$0].reduce(0, +) }
    return Array(
      """
      # HELP lockstep_build_info The version that runs.
      # TYPE lockstep_build_info gauge
      lockstep_build_info{version="\(version)"} 1
      process_start_time_seconds \(startedAt)
      process_cpu_seconds_total 0.5
      lockstep_connections{transport="websocket"} \(devices)
      lockstep_connections{transport="http"} 1
      lockstep_connected_devices \(devices)
      lockstep_records_saved_total \(saves)
      lockstep_pushes_total \(deliveries)
      lockstep_store_bytes 4096
      lockstep_rejected_total{reason="badToken"} \(rejected)
      lockstep_rejected_total{reason="overloaded"} 0
      lockstep_notify_lag_seconds_bucket{le="0.001"} \(cumulative[0])
      lockstep_notify_lag_seconds_bucket{le="0.01"} \(cumulative[1])
      lockstep_notify_lag_seconds_bucket{le="+Inf"} \(cumulative[2])
      lockstep_notify_lag_seconds_sum 1
      lockstep_notify_lag_seconds_count \(cumulative[2])
      \(more)

      """.utf8)
  }

  var figures: RelayFigures {
    get throws { try RelayFigures(metrics: text) }
  }

  static func moment(_ second: Int) -> Moment {
    let wall = Int64(second) * 1_000
    return Moment(instant: Instant(nanoseconds: wall * 1_000_000), wall: wall)
  }

  /// Returns a board after the answers of a relay, one per second from 0; nil: no answer.
  static func board(_ seconds: [TopStage?]) -> TopBoard {
    var board = TopBoard(source: "http://127.0.0.1:9625", everyMilliseconds: 1_000)
    for (second, stage) in seconds.enumerated() {
      board.recordAnswer(
        stage.map { .metrics($0.text, wall: 5_000_000) } ?? .failed("connection refused"),
        at: moment(second))
    }
    return board
  }
}
