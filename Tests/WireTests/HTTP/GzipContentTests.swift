import LockstepWire
import Testing

/// Files that are stored in the coding gzip.
struct GzipContentTests {
  /// "lockstep lockstep lockstep\n" by `gzip -9n`.
  private let coded: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xCB, 0xC9,
    0x4F, 0xCE, 0x2E, 0x2E, 0x49, 0x2D, 0x50, 0xC8, 0x41, 0x67, 0x70, 0x01,
    0x00, 0xB7, 0xF9, 0x61, 0x52, 0x1B, 0x00, 0x00, 0x00,
  ]

  /// Nothing, by the same.
  private let empty: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x03, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
  ]

  @Test func aMemberIsDecodedWhole() {
    let text = Array("lockstep lockstep lockstep\n".utf8)
    #expect(GzipContent.decoded(coded, limit: 27) == text)
    #expect(GzipContent.decoded(coded, limit: 26) == nil)
    #expect(GzipContent.decoded(empty, limit: 0) == [])
  }

  @Test func brokenBytesAreRefused() {
    for count in coded.indices {
      #expect(GzipContent.decoded(Array(coded.prefix(count)), limit: 1 << 20) == nil)
    }
    #expect(GzipContent.decoded(coded + [0], limit: 1 << 20) == nil)
    #expect(GzipContent.decoded(coded + coded, limit: 1 << 20) == nil)
    for index in coded.indices where !headerRest.contains(index) {
      var broken = coded
      broken[index] ^= 0xFF
      #expect(GzipContent.decoded(broken, limit: 1 << 20) == nil, "byte \(index)")
    }
  }

  /// Bytes of the header that say nothing of the content: time, level, system.
  private let headerRest = 4..<10

  @Test(
    arguments: [
      ([], false), (["gzip"], true), (["GZIP"], true), (["deflate", "gzip;q=0.5"], true),
      (["gzip; q=1.0"], true), (["gzip;q=0"], false), (["gzip; Q=0.000"], false), (["*"], false),
      (["x-gzip"], false), (["gzip;q=0.001", "br"], true), ([""], false), ([";"], false),
    ] as [([String], Bool)])
  func aClientSaysIfItAcceptsTheCoding(_ members: [String], _ isAccepted: Bool) {
    #expect(GzipContent.isAccepted(by: members) == isAccepted, "\(members)")
  }
}
