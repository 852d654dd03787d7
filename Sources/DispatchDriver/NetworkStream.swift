#if canImport(Network)
  import Dispatch
  import Foundation
  import LockstepRuntime
  import Network

  /// Stream over Apple's Network framework. TLS, proxies and VPNs are the system's matter. A driver
  /// calls it on the queue that it was made with.
  package final class NetworkStream: ByteStream, @unchecked Sendable {
    /// Bytes received at once.
    private static let portionBytes = 64 << 10

    private let connection: NWConnection
    private let queue: DispatchQueue
    private let isSecure: Bool
    private var handle: (@Sendable (ByteStreamEvent) -> Void)?
    private var isPaused = false
    private var isReceiving = false
    /// Bytes that arrived while reading was paused.
    private var held: (content: Data?, isComplete: Bool, error: NWError?)?

    package init(_ peer: PeerAddress, _ trust: NetworkTrust, on queue: DispatchQueue) {
      self.queue = queue
      switch peer {
      case .host(let host, let port):
        isSecure = false
        connection = NWConnection(to: Self.endpoint(host, port), using: .tcp)
      case .secure(let host, let port):
        isSecure = true
        connection = NWConnection(
          to: Self.endpoint(host, port),
          using: NWParameters(tls: trust.options(for: host, on: queue), tcp: .init()))
      case .http2, .screened: preconditionFailure("the driver refuses it")
      case .local(let path):
        isSecure = false
        connection = NWConnection(to: .unix(path: path), using: .tcp)
      }
    }

    private static func endpoint(_ host: String, _ port: UInt16) -> NWEndpoint {
      .hostPort(host: NWEndpoint.Host(host), port: NWEndpoint.Port(integerLiteral: port))
    }

    package func open(_ handle: @escaping @Sendable (ByteStreamEvent) -> Void) {
      self.handle = handle
      connection.stateUpdateHandler = { [weak self] state in self?.handleState(state) }
      connection.start(queue: queue)
    }

    private func handleState(_ state: NWConnection.State) {
      switch state {
      case .ready:
        handle?(.opened(isSecure: isSecure))
        receive()
      // The node tries again by itself, and tells a person why it waits.
      case .waiting(.tls(let status)), .failed(.tls(let status)):
        end(.notTrusted(NetworkTrust.fault(status)))
      case .waiting(let error): end(.connectFailed("\(error)"))
      case .failed(let error): end(.failed("\(error)"))
      case .setup, .preparing, .cancelled: break
      @unknown default: break
      }
    }

    private func receive() {
      guard !isPaused, !isReceiving, handle != nil else { return }
      isReceiving = true
      connection.receive(minimumIncompleteLength: 1, maximumLength: Self.portionBytes) {
        [weak self] content, _, isComplete, error in
        guard let self else { return }
        isReceiving = false
        guard !isPaused else {
          held = (content, isComplete, error)
          return
        }
        pass(content, isComplete, error)
      }
    }

    private func pass(_ content: Data?, _ isComplete: Bool, _ error: NWError?) {
      if let content, !content.isEmpty { handle?(.received([UInt8](content))) }
      if let error { return end(.failed("\(error)")) }
      if isComplete { return end(.endOfStream) }
      receive()
    }

    package func send(_ bytes: [UInt8]) {
      connection.send(
        content: Data(bytes),
        completion: .contentProcessed { [weak self] error in
          if error == nil { self?.handle?(.sent(bytes.count)) }
        })
    }

    package func setReading(isPaused: Bool) {
      self.isPaused = isPaused
      guard !isPaused, let (content, isComplete, error) = held else { return receive() }
      held = nil
      pass(content, isComplete, error)
    }

    package func close(_ manner: CloseManner) {
      handle = nil
      guard manner == .afterSending else { return connection.cancel() }
      connection.send(
        content: nil, contentContext: .finalMessage, isComplete: true,
        completion: .contentProcessed { [connection] _ in connection.cancel() })
    }

    private func end(_ cause: CloseCause) {
      let handle = self.handle
      self.handle = nil
      connection.cancel()
      handle?(.closed(cause))
    }
  }
#endif
