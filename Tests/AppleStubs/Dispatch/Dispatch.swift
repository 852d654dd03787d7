// The part of Dispatch that Lockstep uses.

public class DispatchObject {
  init() {}
}

public class DispatchQueue: DispatchObject, @unchecked Sendable {
  public convenience init(label: String) { self.init() }

  public func async(execute work: @escaping @Sendable @convention(block) () -> Void) {}

  public func asyncAfter(
    deadline: DispatchTime, execute work: @escaping @Sendable @convention(block) () -> Void
  ) {}
}

public struct DispatchTime: Sendable {
  public static let distantFuture = DispatchTime()
  public static func now() -> DispatchTime { DispatchTime() }
}

public enum DispatchTimeInterval: Sendable {
  case seconds(Int)
  case milliseconds(Int)
  case microseconds(Int)
  case nanoseconds(Int)
  case never
}

public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { time }

public protocol DispatchSourceProtocol: DispatchObject {
  func setEventHandler(handler: (@convention(block) () -> Void)?)
  func resume()
  func cancel()
}

public protocol DispatchSourceTimer: DispatchSourceProtocol {
  func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval, leeway: DispatchTimeInterval)
}

extension DispatchSourceTimer {
  public func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {}
}

public class DispatchSource: DispatchObject {
  public struct TimerFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
  }

  public class func makeTimerSource(
    flags: TimerFlags = [], queue: DispatchQueue? = nil
  ) -> any DispatchSourceTimer {
    StubTimer()
  }
}

final class StubTimer: DispatchObject, DispatchSourceTimer {
  func setEventHandler(handler: (@convention(block) () -> Void)?) {}
  func resume() {}
  func cancel() {}
}

public class DispatchSemaphore: DispatchObject, @unchecked Sendable {
  public convenience init(value: Int) { self.init() }
  public func wait() {}
  @discardableResult public func signal() -> Int { 0 }
}
