import LockstepCrypto
import Testing

struct CertificateTests {
  private static let wall: Int64 = 1_772_366_400_000

  private func key(_ byte: UInt8) throws -> P256PrivateKey {
    try #require(P256PrivateKey([UInt8](repeating: byte, count: 32)))
  }

  private func file(_ key: P256PrivateKey) throws -> [UInt8] {
    try #require(
      ValidationCertificate.make(
        name: "a.example", digest: [UInt8](repeating: 1, count: 32), key: key,
        at: CertificateTests.wall))
  }

  @Test(arguments: [
    ("example.org", true), ("a-b.example", true), ("xn--bcher-kva.example", true),
    ("localhost", true), ("1.example", true), ("", false), (".", false), ("a..b", false),
    ("-a.b", false), ("a-.b", false), ("a_b.c", false), ("*.a.b", false), ("A.b", false),
    ("127.0.0.1", false), ("1.2.3", false), ("a.b:1", false), ("a.b,DNS:c.d", false),
    ("a\n.b", false), (String(repeating: "a", count: 64) + ".b", false),
    (Array(repeating: "abcdefg", count: 32).joined(separator: "."), false),
  ])
  func namesOfCertificates(name: String, isValid: Bool) {
    #expect(CertificateName.isValid(name) == isValid)
  }

  @Test func requestIsMadeOnlyForNames() throws {
    let key = try key(1)
    let request = try #require(
      CertificateRequest.make(names: ["a.example", "b.example"], key: key))
    // A sequence in DER form that contains names and public key.
    #expect(request.first == 0x30)
    let text = String(decoding: request, as: UTF8.self)
    #expect(text.contains("a.example") && text.contains("b.example"))
    #expect(CertificateRequest.make(names: [], key: key) == nil)
    #expect(CertificateRequest.make(names: ["a.example,email:copy"], key: key) == nil)
  }

  @Test func fileIsReadAsItWasWritten() throws {
    let key = try key(1)
    let file = try file(key)
    let chain = try #require(CertificateChain(file: file))
    #expect(chain.names == ["a.example"] && chain.renewalID == nil)
    #expect(chain.start == CertificateTests.wall - 86_400_000)
    #expect(chain.end == CertificateTests.wall + 6 * 86_400_000)
    let again = try #require(chain.file(with: key))
    #expect(CertificateChain(file: again) == chain)
  }

  @Test func foreignTextIsLeftOutOfAChain() throws {
    let key = try key(1)
    let file = try file(key)
    let junk = Array("-----BEGIN NOTE-----\nAAAA\n-----END NOTE-----\nhello\n".utf8)
    let chain = try #require(CertificateChain(junk + file + junk, key: key))
    let text = String(decoding: chain.text, as: UTF8.self)
    #expect(!text.contains("PRIVATE KEY") && !text.contains("NOTE") && !text.contains("hello"))
  }

  @Test func chainMustBeForTheKeyAndShort() throws {
    let key = try key(1)
    let other = try self.key(2)
    let file = try file(key)
    #expect(CertificateChain(file, key: other) == nil)
    #expect(CertificateChain([], key: key) == nil)
    #expect(CertificateChain(Array("hello".utf8), key: key) == nil)
    let all = Array(repeating: file, count: CertificateChain.countMax).flatMap(\.self)
    #expect(CertificateChain(all, key: key) != nil)
    #expect(CertificateChain(all + file, key: key) == nil)
    for count in stride(from: 0, to: file.count, by: 7) {
      _ = CertificateChain(Array(file.prefix(count)), key: key)
      _ = CertificateChain(file: Array(file.prefix(count)))
    }
  }
}
