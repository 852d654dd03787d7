import LockstepJSON
import LockstepModel
import Testing

struct NewerWinsTests {
  @Test func laterStampIsNewerWhateverTheDevice() {
    #expect(NewerWins.isNewer(version([:], at: 2, by: "a"), than: version([:], at: 1, by: "z")))
    #expect(!NewerWins.isNewer(version([:], at: 1, by: "z"), than: version([:], at: 2, by: "a")))
  }

  @Test func devicesCompareByTheirBytes() {
    // "z" is one byte, 0x7A; "é" begins with 0xC3, "电" with 0xE7; capitals sort before small
    // letters.
    let ascending = ["Mac", "mac", "z", "é", "电脑"]
    for (index, lower) in ascending.enumerated() {
      for higher in ascending[(index + 1)...] {
        #expect(NewerWins.isNewer(version([:], by: higher), than: version([:], by: lower)))
        #expect(!NewerWins.isNewer(version([:], by: lower), than: version([:], by: higher)))
      }
    }
  }

  @Test func canonicallyEqualNamesAreTwoDevices() {
    let composed = version([:], by: "caf\u{E9}")
    let decomposed = version([:], by: "cafe\u{301}")
    #expect(
      NewerWins.isNewer(composed, than: decomposed)
        != NewerWins.isNewer(decomposed, than: composed))
  }

  @Test func sameStampIsDecidedByContent() throws {
    let one = version(try json(#"{"a": 1}"#))
    let two = version(try json(#"{"a": 2}"#))
    #expect(NewerWins.isNewer(two, than: one))
    #expect(!NewerWins.isNewer(one, than: two))
    #expect(NewerWins.isNewer(one, than: version(nil)))
  }

  @Test func sidesStandTheSameEitherWay() {
    let old = version([:], at: 1)
    let new = version([:], at: 2)
    #expect(Conflict(base: nil, local: old, server: new).sides.newer == new)
    #expect(Conflict(base: nil, local: new, server: old).sides.newer == new)
    #expect(Conflict(base: nil, local: new, server: old).sides.older == old)
  }
}
