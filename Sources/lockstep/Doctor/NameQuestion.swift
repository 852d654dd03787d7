import Glibc

/// Resolution of a host name by the system's resolver. Blocks until the resolver answers.
enum NameQuestion {
  /// Returns literal addresses without duplicates, in the order in which they would be tried.
  static func addresses(of host: String) -> (addresses: [String], fault: String?) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var first: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, nil, &hints, &first)
    guard code == 0 else { return ([], gai_strerror(code).map { String(cString: $0) }) }
    defer { freeaddrinfo(first) }
    var addresses: [String] = []
    var next = first
    while let entry = next?.pointee {
      next = entry.ai_next
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      let isRead =
        getnameinfo(
          entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
        == 0
      guard isRead else { continue }
      let address = String(
        decoding: text.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
      if !addresses.contains(address) { addresses.append(address) }
    }
    return (addresses, nil)
  }
}
