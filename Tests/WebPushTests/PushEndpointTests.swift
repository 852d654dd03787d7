import LockstepModel
import LockstepWebPush
import Testing

struct PushEndpointTests {
  /// The URLs of push services in use, and unusual ones that are valid.
  @Test(arguments: [
    (
      "https://fcm.googleapis.com/fcm/send/dQw4w9WgXcQ:APA91bH-x_y", "fcm.googleapis.com", 443,
      "/fcm/send/dQw4w9WgXcQ:APA91bH-x_y", "https://fcm.googleapis.com"
    ),
    (
      "https://updates.push.services.mozilla.com/wpush/v2/gAAAAAB",
      "updates.push.services.mozilla.com",
      443, "/wpush/v2/gAAAAAB", "https://updates.push.services.mozilla.com"
    ),
    (
      "https://web.push.apple.com/QGuQyavXutnMH", "web.push.apple.com", 443, "/QGuQyavXutnMH",
      "https://web.push.apple.com"
    ),
    (
      "https://ntfy.sh/upDKhqS4QIdr?up=1", "ntfy.sh", 443, "/upDKhqS4QIdr?up=1", "https://ntfy.sh"
    ),
    (
      "https://wns2-par02p.notify.windows.com/w/?token=BQYAAA%2f%2bx%3d",
      "wns2-par02p.notify.windows.com", 443, "/w/?token=BQYAAA%2f%2bx%3d",
      "https://wns2-par02p.notify.windows.com"
    ),
    ("HTTPS://Push.Example.NET:443/A", "push.example.net", 443, "/A", "https://push.example.net"),
    ("https://a.example:8443/", "a.example", 8_443, "/", "https://a.example:8443"),
    ("https://a.example:65535", "a.example", 65_535, "/", "https://a.example:65535"),
    ("https://a.example?x=/@:", "a.example", 443, "/?x=/@:", "https://a.example"),
    (
      "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443, "/",
      "https://xn--bcher-kva.example"
    ),
    ("https://1.2.3.4.example/", "1.2.3.4.example", 443, "/", "https://1.2.3.4.example"),
    ("https://localhost/", "localhost", 443, "/", "https://localhost"),
    ("https://8.8.8.8/p", "8.8.8.8", 443, "/p", "https://8.8.8.8"),
    (
      "https://[2606:4700:0:0:0:0:0:1111]/p", "[2606:4700::1111]", 443, "/p",
      "https://[2606:4700::1111]"
    ),
    (
      "https://[2001:DB8:0:0:1:0:0:1]:444/", "[2001:db8::1:0:0:1]", 444, "/",
      "https://[2001:db8::1:0:0:1]:444"
    ),
    ("https://[::1]/", "[::1]", 443, "/", "https://[::1]"),
    ("https://[::]/", "[::]", 443, "/", "https://[::]"),
    ("https://[1:0:2:3:4:5:6:7]/", "[1:0:2:3:4:5:6:7]", 443, "/", "https://[1:0:2:3:4:5:6:7]"),
    ("https://[64:ff9b::8.8.8.8]/", "[64:ff9b::808:808]", 443, "/", "https://[64:ff9b::808:808]"),
  ])
  func validURLsAreRead(url: String, host: String, port: UInt16, target: String, origin: String)
    throws
  {
    let endpoint = try PushEndpoint(url)
    #expect(endpoint.hostText == host)
    #expect(endpoint.port == port)
    #expect(endpoint.target == target)
    #expect(endpoint.origin == origin)
    #expect(endpoint.url == origin + target)
    #expect(try PushEndpoint(endpoint.url) == endpoint)
  }

  @Test(arguments: [
    // Other schemes, and none.
    ("", PushEndpointFault.scheme), ("https:", .scheme), ("https:/a.example/", .scheme),
    ("https:a.example", .scheme), ("//a.example/", .scheme), ("/v1", .scheme),
    ("http://a.example/", .scheme), ("ftp://a.example/", .scheme), ("file:///etc/passwd", .scheme),
    ("wss://a.example/", .scheme), ("gopher://a.example/", .scheme), ("a.example", .scheme),
    ("httpss://a.example/", .scheme),
    // Characters.
    (" https://a.example/", .character), ("https://a.example/ ", .character),
    ("https://a.example/\n", .character), ("https://a.example\t/", .character),
    ("https://a.example/\r\nHost: b.example", .character), ("https://a.ex\0ample/", .character),
    ("https://a.example\\@b.example/", .character), ("https:\\\\a.example/", .character),
    ("https://a.example/\u{7F}", .character), ("https://bücher.example/", .character),
    ("https://ⓔxample.com/", .character), ("https://127。0。0。1/", .character),
    ("https://１２７.0.0.1/", .character), ("https://a.example/ä", .character),
    ("https://a\u{200B}.example/", .character), ("https://a.example/{}", .character),
    ("https://a.example/|", .character), ("https://a.example/<", .character),
    // User information, and what could be taken for it.
    ("https://u@a.example/", .userInformation), ("https://u:p@a.example/", .userInformation),
    ("https://@a.example/", .userInformation),
    ("https://a.example:443@b.example/", .userInformation),
    ("https://a.example#@b.example/", .userInformation),
    ("https://[::1]@a.example/", .userInformation),
    // Fragments.
    ("https://a.example/#", .fragment), ("https://a.example/p#f", .fragment),
    ("https://a.example#", .fragment), ("https://a.example?q#f", .fragment),
    // Escapes.
    ("https://a.example/%", .escape), ("https://a.example/%4", .escape),
    ("https://a.example/%zz", .escape), ("https://a.example/?%u0041", .escape),
    // Hosts.
    ("https://", .host), ("https:///p", .host), ("https://:443/", .host), ("https://?", .host),
    ("https://.a.example/", .host), ("https://a..example/", .host), ("https://a.example./", .host),
    ("https://./", .host), ("https://-a.example/", .host), ("https://a-.example/", .host),
    ("https://a_b.example/", .host), ("https://*.example/", .host), ("https://a,b.example/", .host),
    ("https://a%2eexample/", .host), ("https://%61.example/", .host),
    ("https://127.0.0.1%2f.example/", .host), ("https://127.0.0.1./", .host),
    ("https://[::1/", .host), ("https://[fe80::1%25eth0]/", .host),
    ("https://[fe80::1%eth0]/", .host), ("https://a.example&b/", .host),
    // Ports.
    ("https://a.example:/", .port), ("https://a.example:0/", .port),
    ("https://a.example:00443/", .port),
    ("https://a.example:65536/", .port), ("https://a.example:99999/", .port),
    ("https://a.example:4294967739/", .port), ("https://a.example:-1/", .port),
    ("https://a.example:+443/", .port), ("https://a.example:443:443/", .port),
    ("https://a.example:https/", .port), ("https://a.example:0x1bb/", .port),
    ("https://[::1]443/", .port), ("https://[::1]:/", .port), ("https://[::1].example/", .port),
    // IPv4 addresses in other forms than the usual one.
    ("https://2130706433/", .address), ("https://0x7f000001/", .address),
    ("https://0x7f.0x0.0x0.0x1/", .address), ("https://0X7F.1/", .address),
    ("https://017700000001/", .address), ("https://0177.0.0.01/", .address),
    ("https://0177.0.0.0x1/", .address), ("https://127.1/", .address),
    ("https://127.0.1/", .address),
    ("https://0/", .address), ("https://0x/", .address), ("https://127.0.0.0x/", .address),
    ("https://1.2.3.4.5/", .address), ("https://256.1.1.1/", .address),
    ("https://1.1.1.256/", .address),
    ("https://127.0.0.01/", .address), ("https://4294967296/", .address),
    ("https://99999999999999999999/", .address), ("https://a.1/", .address),
    ("https://a.example.0x7f/", .address),
    // IPv6 addresses.
    ("https://[]/", .address), ("https://[:]/", .address), ("https://[:::]/", .address),
    ("https://[1::2::3]/", .address), ("https://[1:2:3:4:5:6:7]/", .address),
    ("https://[1:2:3:4:5:6:7:8:9]/", .address), ("https://[12345::]/", .address),
    ("https://[g::]/", .address), ("https://[127.0.0.1]/", .address),
    ("https://[a.example]/", .address),
    ("https://[::ffff:127.0.0.1]/", .address), ("https://[::ffff:7f00:1]/", .address),
    ("https://[::ffff:8.8.8.8]/", .address), ("https://[::0127.0.0.1]/", .address),
    ("https://[v1.a]/", .address), ("https://[[::1]]/", .address),
  ])
  func tricksAreRefused(url: String, fault: PushEndpointFault) {
    #expect(throws: fault) { try PushEndpoint(url) }
  }

  @Test func lengthsAreBounded() throws {
    let beginning = "https://a.example/"
    let longest = beginning + String(repeating: "p", count: 2_048 - beginning.count)
    #expect(try PushEndpoint(longest).url == longest)
    #expect(throws: PushEndpointFault.tooLong) { try PushEndpoint(longest + "p") }
    // Its usual spelling has a slash, and is one byte longer.
    let query = "https://push.example?"
    let filled = query + String(repeating: "q", count: Limits.wakeEndpointBytes - query.utf8.count)
    #expect(throws: PushEndpointFault.tooLong) { try PushEndpoint(filled) }
    let label = String(repeating: "a", count: 63)
    #expect(try PushEndpoint("https://\(label).example/").port == 443)
    #expect(throws: PushEndpointFault.host) { try PushEndpoint("https://a\(label).example/") }
    let name = [label, label, label, String(repeating: "a", count: 61)].joined(separator: ".")
    #expect(name.count == 253)
    #expect(try PushEndpoint("https://\(name)/").hostText == name)
    #expect(throws: PushEndpointFault.host) { try PushEndpoint("https://\(name)a/") }
  }

  @Test func eachFaultSaysWhatToDo() {
    for fault in PushEndpointFault.allCases { #expect(!fault.description.isEmpty) }
  }
}
