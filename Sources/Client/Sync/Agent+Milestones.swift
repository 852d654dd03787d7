import LockstepModel

/// Milestones, reported if the configuration asks for them.
extension Agent {
  mutating func send(_ batch: SaveRequest, at now: Instant) {
    var batch = batch
    batch.timed = configuration.tellsMilestones
    uplink?.save(batch, at: now, &output)
    guard batch.timed else { return }
    let keys = batch.mutations.map { RecordKey(zone: batch.zone, name: $0.name) }
    report(.milestone(.sent(batch.id, keys)))
  }

  mutating func tellAnswered(_ batch: BatchID, _ answer: SaveAnswer, at moment: Moment) {
    guard configuration.tellsMilestones else { return }
    let passage = answer.timing.flatMap { clock.passage($0, at: moment) }
    report(.milestone(.answered(batch, passage)))
  }

  mutating func tellReceived(_ page: ChangePage) {
    guard configuration.tellsMilestones, !page.changes.isEmpty else { return }
    report(.milestone(.received(page.changes.map(\.key))))
  }
}
