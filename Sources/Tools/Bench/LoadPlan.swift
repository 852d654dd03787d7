public import LockstepModel
import LockstepWire

/// A device of a load: whose token it shows, and what it does.
public struct LoadDevice: Sendable {
  public var token: String
  public var task: LoadTask

  public init(token: String, task: LoadTask) {
    self.token = token
    self.task = task
  }
}

/// What one device of a load does.
public enum LoadTask: Sendable, Hashable {
  /// Saves one record so many times a second, whatever became of those before, until it is told to
  /// stop. `recordBytes`: what it holds beside its number.
  case save(rate: Int, recordBytes: Int)
  /// Uploads so many records of so many bytes, in batches as large as the protocol allows and with
  /// as many of them under way as a socket may have. Their names are numbers from `first` on.
  case upload(first: Int, records: Int, recordBytes: Int)
  /// Reads all that the account has, page by page.
  case snapshot
  /// Comes back with this cursor and waits until it has all that it missed.
  case catchUp(since: ChangeToken)

  /// Whether it comes to an end by itself.
  var isFinite: Bool {
    switch self {
    case .save: false
    case .upload, .snapshot, .catchUp: true
    }
  }
}

public enum LoadOrder: Sendable {
  /// Saves that fall due from now on count.
  case openWindow
  /// No further ones do; what counted is reported when the last of it is answered.
  case closeWindow
}

public enum LoadReport: Sendable {
  /// All devices are signed in.
  case ready
  /// How long each save that counted took, from when it was due to its answer.
  case window(LatencyHistogram)
  /// All that comes to an end has.
  case done(LoadResult)
  /// A device cannot go on, for this reason; it is the node's last word.
  case failed(String)
  /// It was told to stop, and has.
  case stopped
}

/// What a load did.
public struct LoadResult: Sendable {
  /// Records saved, or read.
  public var records = 0
  public var bytesReceived = 0
  /// From the node's start to the end of the last device's task.
  public var nanoseconds: Int64 = 0
  /// From the node's start to the end of each device's task.
  public var devices = LatencyHistogram()
  /// Requests that the relay put off (`overloaded`), and that were made again.
  public var putOff = 0

  public init() {}
}
