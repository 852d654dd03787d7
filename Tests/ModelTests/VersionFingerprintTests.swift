import Testing

@testable import LockstepModel

struct VersionFingerprintTests {
  private func record(_ fields: String?, at stamp: Int64 = 7, type: String = "Note") -> Record {
    Record(
      zone: Name(trusted: "Z"), name: Name(trusted: "n"), type: Name(trusted: type),
      fields: fields.map { Array($0.utf8) }, modifiedAt: stamp, device: DeviceID(rawValue: 1),
      tag: 1)
  }

  /// The page's program must compute the same; `replica.test.js` has the same values.
  @Test func everyClientComputesItAlike() {
    let texts: [(String?, String)] = [
      (#"{ "b" : 1.0, "a" : "é" }"#, "95e231e49cd9a752"), (nil, "28f0165e7006ec28"),
    ]
    for (fields, text) in texts {
      #expect(VersionFingerprint(of: record(fields)).text == text)
    }
  }

  @Test func itTellsVersionsApart() {
    let versions = [
      record("{}"), record(nil), record("{}", at: 8), record("{}", type: "Other"),
      record(#"{"a":1}"#), record("no JSON"),
    ]
    #expect(Set(versions.map { VersionFingerprint(of: $0) }).count == versions.count)
    var again = versions[0]
    (again.tag, again.device) = (9, DeviceID(rawValue: 2))
    #expect(VersionFingerprint(of: again) == VersionFingerprint(of: versions[0]))
  }

  @Test func storesKeepEightBytesOfEach() {
    let prints = [0, 1, .max, 0x0102_0304_0506_0708].map(VersionFingerprint.init(rawValue:))
    #expect(prints.bytes.count == 32)
    #expect([VersionFingerprint](bytes: prints.bytes) == prints)
    #expect([VersionFingerprint](bytes: prints.bytes + [1]) == prints)
    #expect(VersionFingerprint(text: prints[3].text) == prints[3])
    #expect(VersionFingerprint(text: "123") == nil)
  }
}
