import LockstepModel
import Testing

@testable import LockstepClient

struct RestoreTests {
  @Test func whatWasHeldBeyondTheBackupIsLostUntilTheSnapshotIsDone() {
    var restore = Restore(through: 20, held: 50)
    #expect(!restore.hasLost(20))
    #expect(restore.hasLost(21))
    #expect(restore.hasLost(50))
    // Assigned by the relay in its present history.
    #expect(!restore.hasLost(51))
    restore.isSnapshotDone = true
    #expect(!restore.hasLost(21))
  }

  @Test func whatTheBackupHasPrecedesTheLoss() {
    let restore = Restore(through: 20, held: 50)
    #expect(restore.precedesLoss(20))
    #expect(!restore.precedesLoss(21))
    #expect(!restore.precedesLoss(0))
  }

  @Test func tagsOfTheSameHistoryTellWhatCameFirst() {
    let restore = Restore(through: 20, held: 50)
    #expect(restore.precedes(20, 50) && restore.precedes(49, 50))
    #expect(!restore.precedes(50, 50) && !restore.precedes(51, 50) && !restore.precedes(0, 50))
    // Tags of another history are not comparable.
    #expect(!Restore(through: 0, held: 50).precedes(3, 50))
  }

  /// The relay's clock was set back between two restores, so that the tags of the second history
  /// are smaller than those of the first.
  @Test func aTagGreaterThanAllOfTheRelaysIsNotComparable() {
    let restore = Restore(through: 20, held: 50).joined(
      with: Restore(lost: [TagGap(after: 45, through: 50)], newest: 45))
    #expect(restore.precedes(20, 50) && !restore.precedes(40, 50))
    #expect(restore.precedes(40, 45))
    #expect(Restore(text: restore.text) == restore)
    let later = restore.joined(with: Restore(through: 60, held: 70))
    #expect(!later.precedes(40, 50))
    #expect(Restore(text: later.text) == later)
  }

  @Test func whatWasGivenBetweenTwoLossesIsNotLost() {
    var restore = Restore(lost: [TagGap(after: 20, through: 50), TagGap(after: 60, through: 90)])
    #expect(restore.hasLost(21) && restore.hasLost(61) && restore.hasLost(90))
    #expect(!restore.hasLost(20) && !restore.hasLost(51) && !restore.hasLost(60))
    #expect(restore.precedesLoss(20) && !restore.precedesLoss(55))
    #expect(Restore(text: restore.text) == restore)
    restore.isSnapshotDone = true
    #expect(Restore(text: restore.text) == restore)
  }

  @Test func itIsReadAsItWasWritten() {
    var restore = Restore(through: 20, held: 1 << 40)
    #expect(Restore(text: restore.text) == restore)
    restore.isSnapshotDone = true
    #expect(Restore(text: restore.text) == restore)
    for text in ["", "1 2", "1 2 3", "x 2 done", "1 2 done done", "1 2 done 3 4 5", "1 2 3 done"] {
      #expect(Restore(text: text) == nil, "\(text)")
    }
  }

  @Test func aSecondRestoreBeforeTheSnapshotWidensTheLoss() {
    let joined = Restore(through: 20, held: 50).joined(with: Restore(through: 10, held: 120))
    for tag in [11, 20, 21, 50, 51, 120] as [ChangeTag] { #expect(joined.hasLost(tag), "\(tag)") }
    #expect(!joined.hasLost(10) && !joined.hasLost(121))
    #expect(joined.precedesLoss(10) && !joined.precedesLoss(11))
    #expect(Restore(text: joined.text) == joined)
  }

  @Test func whatWasTakenSinceTheSnapshotIsLostOnlyIfItWasLostThisTime() {
    var first = Restore(through: 20, held: 50)
    first.isSnapshotDone = true
    let joined = first.joined(with: Restore(through: 90, held: 120))
    #expect(!joined.hasLost(21) && !joined.hasLost(90))
    #expect(joined.hasLost(91) && joined.hasLost(120))
    // Records lost the first time may still wait, and are older than later ones.
    #expect(joined.precedesLoss(20) && !joined.precedesLoss(21))
    #expect(Restore(text: joined.text) == joined)
  }

  @Test func aRefusalThatProvesNoLossCostsNothing() {
    #expect(Refusal(.storeRestored, "", restoredThrough: 5).provenLoss == 5)
    #expect(Refusal(.storeRestored, "").provenLoss == 0)
    #expect(Refusal(.badChangeToken, "").provenLoss == 0)
    #expect(Refusal(.tokenExpired, "").provenLoss == nil)
    #expect(Refusal(.filterChanged, "").provenLoss == nil)
  }
}
