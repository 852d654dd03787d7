public import LockstepModel
import LockstepWire

/// A device of a load: its token and its task.
public struct LoadDevice: Sendable {
  public var token: String
  public var task: LoadTask

  public init(token: String, task: LoadTask) {
    self.token = token
    self.task = task
  }
}

/// Task of one device of a load.
public enum LoadTask: Sendable, Hashable {
  /// Saves one record this many times a second, independent of earlier saves, until it is stopped.
  /// `recordBytes`: bytes of a record's fields.
  case save(rate: Int, recordBytes: Int)
  /// Uploads this many records of this size, in batches of the maximum size, with as many
  /// concurrent batches as a socket may have. The record names are numbers, starting at `first`.
  case upload(first: Int, records: Int, recordBytes: Int)
  /// Reads the whole account, page by page.
  case snapshot
  /// Reconnects with this cursor and waits for all missed changes.
  case catchUp(since: ChangeToken)

  /// True if the task ends by itself.
  var isFinite: Bool {
    switch self {
    case .save: false
    case .upload, .snapshot, .catchUp: true
    }
  }
}

public enum LoadOrder: Sendable {
  /// Start of the window: saves due from now on are counted.
  case openWindow
  /// End of the window. The result is reported after the last counted save is answered.
  case closeWindow
}

public enum LoadReport: Sendable {
  /// All devices are signed in.
  case ready
  /// Latencies of the counted saves, from due time to answer.
  case window(LatencyHistogram)
  /// All finite tasks are done.
  case done(LoadResult)
  /// A device failed, for this reason; the node reports nothing after it.
  case failed(String)
  /// The node has stopped, as ordered.
  case stopped
}

/// Result of a load.
public struct LoadResult: Sendable {
  /// Number of records saved or read.
  public var records = 0
  public var bytesReceived = 0
  /// Time from the node's start to the end of the last device's task.
  public var nanoseconds: Int64 = 0
  /// Time from the node's start to the end of each device's task.
  public var devices = LatencyHistogram()
  /// Number of requests that the relay deferred (`overloaded`) and that were repeated.
  public var putOff = 0

  public init() {}
}
