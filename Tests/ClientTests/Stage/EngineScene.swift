import LockstepModel
import LockstepWire

@testable import LockstepClient

/// Values shared by the tests of the sync engine.
protocol EngineScene {}

extension EngineScene {
  var one: ChangeToken { ChangeToken(generation: 1, sequence: 1) }
  var two: ChangeToken { ChangeToken(generation: 1, sequence: 2) }
  var three: ChangeToken { ChangeToken(generation: 1, sequence: 3) }

  var batch: SaveRequest {
    SaveRequest(
      id: BatchID(high: 1, low: 1), zone: TestApp.zone, atomic: false,
      mutations: [
        Mutation(
          name: Name(trusted: "a"), type: TestApp.note, fields: [123, 125], modifiedAt: 1,
          baseTag: 0)
      ])
  }

  var waiting: OutboxSummary {
    var summary = OutboxSummary()
    summary.waiting = [.init(zone: TestApp.zone, count: 1)]
    summary.unsent = 1
    return summary
  }

  var frozen: OutboxSummary {
    var summary = OutboxSummary()
    summary.frozen = batch.id
    summary.unsent = 1
    return summary
  }

  func page(_ since: ChangeToken?, _ token: ChangeToken, more: Bool = false, count: Int = 1)
    -> ChangePage
  {
    let record = Record(
      zone: TestApp.zone, name: Name(trusted: "b"), type: TestApp.note, fields: [123, 125],
      modifiedAt: 1, device: DeviceID(rawValue: 9), tag: 2)
    return ChangePage(
      since: since, token: token, more: more, changes: Array(repeating: record, count: count))
  }

  func applied(_ token: ChangeToken, isAtEnd: Bool = true) -> Applied {
    Applied(position: .cursor(token), isAtEnd: isAtEnd)
  }
}
