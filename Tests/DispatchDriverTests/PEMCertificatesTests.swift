import LockstepDispatchDriver
import Testing

struct PEMCertificatesTests {
  private static let begin = "-----BEGIN CERTIFICATE-----"
  private static let end = "-----END CERTIFICATE-----"

  private func decode(_ text: String) -> [[UInt8]]? { PEMCertificates.decode(Array(text.utf8)) }

  @Test func allCertificatesAreReadAndOtherTextIsPassedOver() {
    let file = """
      a comment
      \(Self.begin)
      AQID
      BAUG
      \(Self.end)
      -----BEGIN PRIVATE KEY-----
      AAAA
      -----END PRIVATE KEY-----
      \(Self.begin)\r
      /w==\r
      \(Self.end)\r

      """
    #expect(decode(file) == [[1, 2, 3, 4, 5, 6], [255]])
  }

  @Test func aFileThatIsNotWholeIsRefused() {
    for file in [
      "", "no certificate", "\(Self.begin)\nAQID\n", "\(Self.begin)\n\(Self.end)\n",
      "\(Self.begin)\nA*ID\n\(Self.end)\n", "\(Self.begin)\nAQI\n\(Self.end)\n",
    ] {
      #expect(decode(file) == nil, "\(file)")
    }
  }
}
