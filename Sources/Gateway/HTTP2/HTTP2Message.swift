import CNghttp2

/// A request of HTTP/2: its fields, the pseudo-fields first (RFC 9113 section 8.3.1), and its body.
struct HTTP2Request: Hashable {
  struct Field: Hashable {
    /// In lower case.
    var name: String
    var value: String
    /// True for a value that no table of either side keeps (RFC 7541 section 7.1.3).
    var isSensitive = false
  }

  var fields: [Field]
  var body: [UInt8]

  /// Calls `body` with the fields in nghttp2's form, valid until it returns.
  func withFields<Result>(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Result) -> Result {
    var bytes: [UInt8] = []
    for field in fields {
      bytes += field.name.utf8
      bytes += field.value.utf8
    }
    return bytes.withUnsafeMutableBufferPointer { bytes in
      guard var next = bytes.baseAddress else {
        return body(UnsafeBufferPointer(start: nil, count: 0))
      }
      var pairs: [nghttp2_nv] = []
      for field in fields {
        let (nameCount, valueCount) = (field.name.utf8.count, field.value.utf8.count)
        let flags = field.isSensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
        pairs.append(
          nghttp2_nv(
            name: next, value: next + nameCount, namelen: nameCount, valuelen: valueCount,
            flags: UInt8(truncatingIfNeeded: flags.rawValue)))
        next += nameCount + valueCount
      }
      return pairs.withUnsafeBufferPointer(body)
    }
  }
}

/// An answer: its status, and those of its fields that mean something to the gateway.
struct HTTP2Answer: Hashable {
  /// 0 until it is known.
  var status = 0
  var retryAfter: String?
  /// Name that APNs has given the notification.
  var notificationID: String?
  var body: [UInt8] = []

  /// Sets the status or a known field; others are ignored.
  mutating func setField(_ name: String, _ value: String) {
    switch name {
    // An interim answer (1xx) is followed by another one.
    case ":status": status = Int(value) ?? 0
    case "retry-after": retryAfter = value
    case "apns-id": notificationID = value
    default: break
    }
  }
}
