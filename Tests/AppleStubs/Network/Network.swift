// The part of Network that Lockstep uses.
public import Dispatch
public import Foundation
public import Security

public enum NWError: Error, Equatable {
  case posix(Int32)
  case dns(Int32)
  case tls(OSStatus)
}

public enum NWEndpoint: Hashable, Sendable {
  public struct Host: Hashable, Sendable {
    public init(_ string: String) {}
  }

  public struct Port: Hashable, Sendable, ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt16) {}
    public init?(rawValue: UInt16) {}
  }

  case hostPort(host: Host, port: Port)
  case unix(path: String)
}

public class NWProtocolOptions {}

public enum NWProtocolTLS {
  public final class Options: NWProtocolOptions {
    public override init() {}
    public var securityProtocolOptions: sec_protocol_options_t { sec_protocol_options() }
  }
}

public enum NWProtocolTCP {
  public final class Options: NWProtocolOptions {
    public override init() {}
  }
}

public final class NWParameters: Sendable {
  public class var tcp: NWParameters { NWParameters(tls: nil) }
  public convenience init(
    tls: NWProtocolTLS.Options?, tcp: NWProtocolTCP.Options = NWProtocolTCP.Options()
  ) { self.init() }
  init() {}
}

public final class NWConnection: @unchecked Sendable {
  public enum State: Equatable, Sendable {
    case setup
    case waiting(NWError)
    case preparing
    case ready
    case failed(NWError)
    case cancelled
  }

  public final class ContentContext: Sendable {
    public static let defaultMessage = ContentContext()
    public static let finalMessage = ContentContext()
  }

  public enum SendCompletion {
    case contentProcessed(@Sendable (_ error: NWError?) -> Void)
    case idempotent
  }

  public init(to endpoint: NWEndpoint, using parameters: NWParameters) {}
  public final var stateUpdateHandler: (@Sendable (_ state: NWConnection.State) -> Void)?
  public final func start(queue: DispatchQueue) {}
  public final func cancel() {}

  public final func receive(
    minimumIncompleteLength: Int, maximumLength: Int,
    completion:
      @escaping @Sendable (
        _ content: Data?, _ contentContext: NWConnection.ContentContext?, _ isComplete: Bool,
        _ error: NWError?
      ) -> Void
  ) {}

  public final func send(
    content: Data?, contentContext: NWConnection.ContentContext = .defaultMessage,
    isComplete: Bool = true, completion: NWConnection.SendCompletion
  ) {}
}
