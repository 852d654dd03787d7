import Changes
import Link
import Storage

/// What an agent has under way with pieces of files.
struct PieceDesk {
  /// A piece that is being written into the home.
  struct Addition: Hashable, Sendable {
    var order: OrderID
    var piece: HeldPiece
    var failure: PieceFailure?
  }

  /// What a job on the files was given for.
  enum FileErrand: Hashable, Sendable {
    case append(OrderID)
    case finish(OrderID)
    case read(OrderID)
    case remove
    case list
  }

  /// Where the care for files and pieces that nothing names stands.
  enum Care: Hashable, Sendable {
    /// Files that hold no piece, as after a crash, come first.
    case sweeping(after: ChunkFile?)
    case collecting(after: ChunkHash?)
  }

  /// Orders that came before the home was read.
  var early: [AgentOrder] = []
  var additions: [Addition] = []
  var reader = PieceReader()
  var jobs: [(id: JobID, errand: FileErrand)] = []
  var care = Care.sweeping(after: nil)
}
