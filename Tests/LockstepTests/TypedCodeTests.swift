import LockstepClient
import LockstepSealing
import Testing

@testable import Lockstep

struct TypedCodeTests {
  private let relay = RelayAddress(host: "10.0.0.1", port: 5625)

  @Test func aCodeIsReadAsItIs() throws {
    let typed = try TypedCode("7q2m-0xkd-9rta-c4vh-1ezb-83nw")
    #expect(typed.relay == nil && typed.code.relayPart == "7Q2M-0XKD-9RTA")
    #expect(typed.code.text == "7Q2M-0XKD-9RTA-C4VH-1EZB-83NW")
    #expect(try TypedCode("7Q2M").code.relayPart == "7Q2M")
  }

  @Test(arguments: ["7Q2M-0XKD-9RTA", "7Q2M-0XKD-9RTA-C4VH-1EZB-83NW"])
  func aLinkSaysTheRelayToo(code: String) throws {
    let link = TypedCode.deviceLink(to: relay, code)
    #expect(link == "lockstep+http://10.0.0.1:5625/#code=" + code)
    let page = TypedCode.pageLink(to: relay, code, carriesKeys: false)
    #expect(page == "http://10.0.0.1:5625/#code=" + code)
    for text in [link, " \(link)\n", page] {
      let typed = try TypedCode(text)
      #expect(typed.relay == relay && typed.code.text == code)
    }
  }

  @Test func aLinkWithTheFirstHalfAloneSaysThatThereIsASecond() throws {
    let half = "7Q2M-0XKD-9RTA"
    let link = TypedCode.pageLink(to: relay, half, carriesKeys: true)
    #expect(link == "http://10.0.0.1:5625/#code=7Q2M-0XKD-9RTA&keys")
    let typed = try TypedCode(link)
    #expect(typed.relay == relay && typed.code.relayPart == half)
    #expect(typed.code.secret == nil && typed.code.carriesKeys)
    #expect(try !TypedCode(half).code.carriesKeys)
    #expect(try TypedCode("\(half)-C4VH-1EZB-83NW").code.carriesKeys)
  }

  @Test(arguments: [
    "#code=7Q2M-0XKD-9RTA", "http://10.0.0.1:5625/#7Q2M-0XKD-9RTA", "ftp://x/#code=7Q2M",
    "lockstep+ftp://x/#code=7Q2M-0XKD-9RTA", "lockstep:http://10.0.0.1:5625/#code=7Q2M-0XKD-9RTA",
    "http://10.0.0.1:5625/#code=7Q2M-0XKD-9RTA-C4VH", "7Q2M-0XKD-9RTA-C4VH",
  ])
  func whatIsMistypedIsRefusedHere(text: String) {
    #expect(throws: LockstepError.self) { try TypedCode(text) }
  }
}
