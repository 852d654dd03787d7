import LockstepModel
import LockstepRuntime
import LockstepWire

/// Answers on the listener without TLS: to validations by http-01 (RFC 8555 section 8.3) and, to
/// all other requests, that the address is `https`. Each connection has one request.
struct PlainListener: Sendable {
  private struct Client: Sendable {
    let id: ConnectionID
    let deadline: Instant
    var parser = HTTPRequestParser()
  }

  private let names: [String]
  private let port: UInt16
  /// In the order in which they were opened, and thus of their deadlines.
  private var clients: [Client] = []
  /// Challenge that is answered.
  var challenge: ACMEChallenge?

  init(names: [String], redirectPort: UInt16) {
    self.names = names
    port = redirectPort
  }

  var nextDeadline: Instant? { clients.first?.deadline }

  mutating func opened(_ id: ConnectionID, at now: Instant) {
    let deadline = now.advanced(milliseconds: ACMELimits.plainMilliseconds)
    clients.append(Client(id: id, deadline: deadline))
  }

  mutating func closed(_ id: ConnectionID) { clients.removeAll { $0.id == id } }

  /// Removes and returns the connections whose time is over.
  mutating func expired(at now: Instant) -> [ConnectionID] {
    let count = clients.prefix { $0.deadline <= now }.count
    defer { clients.removeFirst(count) }
    return clients.prefix(count).map(\.id)
  }

  /// Removes and returns all connections.
  mutating func removeAll() -> [ConnectionID] {
    defer { clients = [] }
    return clients.map(\.id)
  }

  /// Returns the answer, after which the connection is closed; nil if the request is not complete.
  mutating func received(_ id: ConnectionID, _ bytes: RawSpan) -> [UInt8]? {
    guard let place = clients.firstIndex(where: { $0.id == id }) else { return nil }
    clients[place].parser.receive(bytes)
    let answer: [UInt8]
    do throws(Refusal) {
      guard case .head(let head) = try clients[place].parser.next() else { return nil }
      answer = self.answer(to: head)
    } catch {
      answer = PlainListener.text(400, "This is not an HTTP request.\n")
    }
    clients.remove(at: place)
    return answer
  }

  private func answer(to head: HTTPRequestHead) -> [UInt8] {
    let path = head.target.path
    if path.starts(with: [".well-known", "acme-challenge"]) {
      guard let challenge, challenge.kind == .http01, path.count == 3, path[2] == challenge.token,
        ["GET", "HEAD"].contains(head.method)
      else { return PlainListener.text(404, "There is no such challenge.\n") }
      return PlainListener.text(
        200, challenge.keyAuthorization, type: "application/octet-stream",
        omitsBody: head.method == "HEAD")
    }
    var target = head.target
    target.authority = nil
    let location = "https://" + host(of: head) + (port == 443 ? "" : ":\(port)") + target.text
    return HTTPWriter.response(
      status: 308, headers: ["Location": location, "Connection": "close"])
  }

  /// Returns the name that the client uses, if it is one of the certificate's; otherwise the first
  /// of these, so that nobody is sent to another host.
  private func host(of head: HTTPRequestHead) -> String {
    let asked = (head.headers["Host"] ?? "").prefix { $0 != ":" }.lowercased()
    return names.first { $0 == asked } ?? names.first ?? "localhost"
  }

  private static func text(
    _ status: Int, _ body: String, type: String = "text/plain; charset=utf-8",
    omitsBody: Bool = false
  ) -> [UInt8] {
    HTTPWriter.response(
      status: status, headers: ["Content-Type": type, "Connection": "close"],
      body: Array(body.utf8), omitsBody: omitsBody)
  }
}
