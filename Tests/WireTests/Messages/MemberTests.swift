import LockstepJSON
import Testing

@testable import LockstepWire

@Suite struct MemberTests {
  @Test func everyMemberIsFoundByItsName() {
    for member in Member.allCases {
      #expect(Member.named(JSONKey(member.text.utf8)) == member)
    }
  }

  @Test func otherNamesAreNoMembers() {
    for name in [
      "", "OP", "opp", "o", "modifiedat", "modifiedAtt", "a name longer than any of ours",
    ] {
      #expect(Member.named(JSONKey(name.utf8)) == nil)
    }
  }

  @Test func memberStandsInASetOnce() {
    #expect(Member.allCases.count <= 128)
    var set = MemberSet()
    for isFirst in [true, false] {
      for member in Member.allCases {
        let isInserted = set.insert(member)
        #expect(isInserted == isFirst)
      }
    }
  }
}
