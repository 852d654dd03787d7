import CNghttp2

/// Client's end of one HTTP/2 connection (RFC 9113), by nghttp2. Opens no socket and reads no
/// clock: takes the bytes of the peer, gives the bytes for it, and events.
///
/// nghttp2 answers SETTINGS and PING, keeps the windows of flow control, and checks what comes in.
/// It is used by one thread, and belongs to one owner.
final class HTTP2Client {
  enum Event: Hashable {
    /// The first SETTINGS frame has come: requests may be sent.
    case ready
    /// The answer is complete.
    case answered(stream: Int32, HTTP2Answer)
    /// The peer has not processed the request: it may be sent again.
    case refused(stream: Int32)
    /// The stream has ended without an answer; the request may have been processed.
    case reset(stream: Int32, code: UInt32)
    /// The peer takes no new requests on this connection. Streams up to the last one go on; those
    /// after it are `refused`.
    case goingAway(code: UInt32)
  }

  enum Fault: Error, Hashable {
    /// The peer has violated the protocol, or nghttp2 cannot go on; its text.
    case failed(String)
  }

  /// A request whose stream is open.
  private struct Exchange {
    var body: ArraySlice<UInt8>
    var answer = HTTP2Answer()
    /// Bytes of the answer's body so far.
    var answerBytes = 0
  }

  private let session: OpaquePointer
  private var exchanges: [Int32: Exchange] = [:]
  private var events: [Event] = []
  private(set) var isReady = false
  private(set) var isGoingAway = false

  /// Returns nil if there is no memory.
  init?() {
    guard let session = HTTP2Client.makeSession() else { return nil }
    self.session = session
    nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    // Nothing is pushed to this client.
    var settings = nghttp2_settings_entry(
      settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)
    guard nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, 1) == 0
    else { return nil }
  }

  deinit { nghttp2_session_del(session) }

  private static func makeSession() -> OpaquePointer? {
    var callbacks: OpaquePointer?
    guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
    defer { nghttp2_session_callbacks_del(callbacks) }
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      HTTP2Client.of(context)?.receivedFrame(frame)
      return 0
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, frame, name, nameCount, value, valueCount, _, context in
      let name = UnsafeBufferPointer(start: name, count: nameCount)
      let value = UnsafeBufferPointer(start: value, count: valueCount)
      HTTP2Client.of(context)?.receivedField(frame, name, value)
      return 0
    }
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      _, _, stream, data, count, context in
      HTTP2Client.of(context)?.receivedData(
        stream, UnsafeBufferPointer(start: data, count: count))
      return 0
    }
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, code, context in
      HTTP2Client.of(context)?.closedStream(stream, code)
      return 0
    }
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks) { _, frame, _, context in
      HTTP2Client.of(context)?.didNotSend(frame)
      return 0
    }
    var session: OpaquePointer?
    return nghttp2_session_client_new(&session, callbacks, nil) == 0 ? session : nil
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> HTTP2Client? {
    context.map { Unmanaged<HTTP2Client>.fromOpaque($0).takeUnretainedValue() }
  }

  // MARK: state

  /// Number of open streams.
  var streamCount: Int { exchanges.count }

  /// Number of streams that the peer allows at a time.
  var streamsMax: Int {
    Int(nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  /// True if neither side has anything to send any more.
  var isOver: Bool {
    nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0
  }

  // MARK: requests

  /// Submits a request and returns its stream; nil if the connection takes no more requests.
  func submit(_ request: HTTP2Request) -> Int32? {
    guard isReady, !isGoingAway, nghttp2_session_check_request_allowed(session) != 0 else {
      return nil
    }
    let stream = request.withFields { fields in
      var body = nghttp2_data_provider()
      body.read_callback = { _, stream, buffer, count, flags, _, context in
        guard let client = HTTP2Client.of(context), let buffer, let flags else {
          return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
        return client.read(stream, UnsafeMutableBufferPointer(start: buffer, count: count), flags)
      }
      return withUnsafePointer(to: &body) { body in
        nghttp2_submit_request(
          session, nil, fields.baseAddress, fields.count, request.body.isEmpty ? nil : body, nil)
      }
    }
    guard stream > 0 else { return nil }
    exchanges[stream] = Exchange(body: request.body[...])
    return stream
  }

  /// Resets a stream whose answer is no longer wanted. No event follows for it.
  func cancel(_ stream: Int32) {
    guard exchanges.removeValue(forKey: stream) != nil else { return }
    nghttp2_submit_rst_stream(
      session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
  }

  /// Asks the peer for a sign of life.
  func ping() { nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

  /// Tells the peer that this connection ends.
  func goAway() { nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue) }

  private func read(
    _ stream: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>,
    _ flags: UnsafeMutablePointer<UInt32>
  ) -> Int {
    guard let rest = exchanges[stream]?.body else {
      return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let part = rest.prefix(buffer.count)
    _ = buffer.update(fromContentsOf: part)
    exchanges[stream]?.body = rest.dropFirst(part.count)
    if part.count == rest.count { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return part.count
  }

  // MARK: bytes and events

  func receive(_ bytes: RawSpan) throws(Fault) {
    let count = bytes.withUnsafeBytes { bytes in
      nghttp2_session_mem_recv(
        session, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
    guard count >= 0 else { throw .failed(HTTP2Client.text(count)) }
  }

  /// Returns the bytes for the peer; empty if there are none for now.
  func output() throws(Fault) -> [UInt8] {
    var output: [UInt8] = []
    while true {
      var bytes: UnsafePointer<UInt8>?
      let count = nghttp2_session_mem_send(session, &bytes)
      guard count >= 0 else { throw .failed(HTTP2Client.text(count)) }
      if count == 0 { return output }
      output.append(contentsOf: UnsafeBufferPointer(start: bytes, count: count))
    }
  }

  /// Removes and returns the events so far, in order.
  func takeEvents() -> [Event] {
    defer { events = [] }
    return events
  }

  private static func text(_ code: Int) -> String {
    nghttp2_strerror(Int32(truncatingIfNeeded: code)).map { String(cString: $0) } ?? "error \(code)"
  }

  // MARK: callbacks

  private func receivedFrame(_ frame: UnsafePointer<nghttp2_frame>?) {
    guard let frame else { return }
    switch UInt32(frame.pointee.hd.type) {
    case NGHTTP2_SETTINGS.rawValue:
      let isAcknowledgement = UInt32(frame.pointee.hd.flags) & NGHTTP2_FLAG_ACK.rawValue != 0
      guard !isAcknowledgement, !isReady else { return }
      isReady = true
      events.append(.ready)
    case NGHTTP2_GOAWAY.rawValue:
      isGoingAway = true
      events.append(.goingAway(code: frame.pointee.goaway.error_code))
    default: break
    }
  }

  private func receivedField(
    _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafeBufferPointer<UInt8>,
    _ value: UnsafeBufferPointer<UInt8>
  ) {
    guard let frame, exchanges[frame.pointee.hd.stream_id] != nil,
      value.count <= GatewayLimits.answerFieldBytes
    else { return }
    exchanges[frame.pointee.hd.stream_id]?.answer.setField(
      String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
  }

  private func receivedData(_ stream: Int32, _ data: UnsafeBufferPointer<UInt8>) {
    guard let length = exchanges[stream]?.answerBytes else { return }
    exchanges[stream]?.answerBytes = length + data.count
    guard length + data.count <= GatewayLimits.answerBytes else {
      nghttp2_submit_rst_stream(
        session, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, NGHTTP2_CANCEL.rawValue)
      return
    }
    exchanges[stream]?.answer.body.append(contentsOf: data)
  }

  private func closedStream(_ stream: Int32, _ code: UInt32) {
    guard let exchange = exchanges.removeValue(forKey: stream) else { return }
    if code == NGHTTP2_REFUSED_STREAM.rawValue {
      events.append(.refused(stream: stream))
    } else if code == NGHTTP2_NO_ERROR.rawValue, exchange.answer.status >= 200 {
      events.append(.answered(stream: stream, exchange.answer))
    } else {
      events.append(.reset(stream: stream, code: code))
    }
  }

  /// Handles a request that nghttp2 could not send, for example because the peer has gone away
  /// meanwhile.
  private func didNotSend(_ frame: UnsafePointer<nghttp2_frame>?) {
    guard let frame, UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue,
      exchanges.removeValue(forKey: frame.pointee.hd.stream_id) != nil
    else { return }
    events.append(.refused(stream: frame.pointee.hd.stream_id))
  }
}

/// nghttp2 that the program runs with. A release links it statically, so only the program itself
/// can report the version.
package enum LinkedNghttp2 {
  /// `1.52.0`.
  package static var version: String {
    nghttp2_version(0).map { String(cString: $0.pointee.version_str) } ?? "unknown"
  }
}
