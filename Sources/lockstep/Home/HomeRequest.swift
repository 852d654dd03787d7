import Apps
import Changes
import Devices

/// What a command asks of the process that holds a home, as a line of JSON on the home's socket.
/// Every request is answered by one line, `watch` by one line a change until the socket closes.
enum HomeRequest: Equatable {
  /// Make an edit of the timer. Answered with the screen once the edit is durable.
  case timer(TimerEvent)
  case screen
  /// With ticks, the screen is told anew whenever its line reads otherwise.
  case watch(isTicking: Bool)
  case status
  /// Sync now, and answer when all is there, nothing more can be done, or the time is up.
  case sync(milliseconds: Int64)
  /// Who this home is, with its token: for calls that the command makes itself.
  case credentials

  /// Asking it twice does the same as asking it once.
  var mayBeRepeated: Bool {
    switch self {
    case .timer: false
    case .screen, .watch, .status, .sync, .credentials: true
    }
  }

  init?(_ line: JSONValue) {
    switch line["verb"]?.string {
    case "timer":
      guard let event = TimerEvent(line) else { return nil }
      self = .timer(event)
    case "screen": self = .screen
    case "watch": self = .watch(isTicking: line["ticks"]?.bool ?? false)
    case "status": self = .status
    case "sync":
      guard let milliseconds = line["milliseconds"]?.int64, (0...60_000).contains(milliseconds)
      else { return nil }
      self = .sync(milliseconds: milliseconds)
    case "credentials": self = .credentials
    default: return nil
    }
  }

  var line: JSONValue {
    func object(_ verb: String, _ members: [JSONMember] = []) -> JSONValue {
      .object([JSONMember("verb", .string(verb))] + members)
    }
    return switch self {
    case .timer(let event): object("timer", event.members)
    case .screen: object("screen")
    case .watch(let isTicking): object("watch", [JSONMember("ticks", .bool(isTicking))])
    case .status: object("status")
    case .sync(let milliseconds):
      object("sync", [JSONMember("milliseconds", .number(JSONNumber(milliseconds)))])
    case .credentials: object("credentials")
    }
  }
}

extension TimerEvent {
  fileprivate init?(_ line: JSONValue) {
    let length = line["length"]?.int64
    switch line["event"]?.string {
    case "start": self = .start(length: length)
    case "pause": self = .pause
    case "resume": self = .resume
    case "stop": self = .stop
    case "skip": self = .skip
    case "snooze": self = .snooze(length: length)
    default: return nil
    }
  }

  fileprivate var members: [JSONMember] {
    func named(_ event: String, _ length: Int64? = nil) -> [JSONMember] {
      [JSONMember("event", .string(event))]
        + (length.map { [JSONMember("length", .number(JSONNumber($0)))] } ?? [])
    }
    return switch self {
    case .start(let length): named("start", length)
    case .pause: named("pause")
    case .resume: named("resume")
    case .stop: named("stop")
    case .skip: named("skip")
    case .snooze(let length): named("snooze", length)
    }
  }
}
