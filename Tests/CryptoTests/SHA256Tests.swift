import LockstepCrypto
import Testing

struct SHA256Tests {
  /// Examples of FIPS 180-4, as NIST publishes them.
  private static let published = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
  ]

  @Test(arguments: published) func hashesAreThePublishedOnes(text: String, hash: String) {
    #expect(hexadecimal(SHA256.hash(Array(text.utf8))) == hash)
  }

  /// The hash is the same for any split of the bytes, also at the end of a block of 64 bytes.
  @Test(arguments: published, [1, 63, 64, 65, 70_000])
  func stepsMakeTheSameHash(published: (text: String, hash: String), size: Int) {
    let bytes = Array(published.text.utf8)
    let steps = SHA256()
    for start in stride(from: 0, to: bytes.count, by: size) {
      let end = min(start + size, bytes.count)
      steps.update(bytes.span.extracting(start..<end).bytes)
      steps.update([])
    }
    #expect(hexadecimal(steps.finish()) == published.hash)
  }
}
