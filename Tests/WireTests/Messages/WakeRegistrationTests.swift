import LockstepModel
import Testing

@testable import LockstepWire

/// Registrations for wakes on the wire.
@Suite struct WakeRegistrationTests {
  private let id = Name(trusted: "page")
  private let notice = WakeNotice(title: "Notes \"é\"", navigate: "https://notes.example/#all")

  private func registration(
    expiresAt: Int64? = nil, notice: WakeNotice? = nil, wakeKey: String? = nil
  ) -> WakeRegistrationBody {
    WakeRegistrationBody(
      WakeRegistration(
        id: id, endpoint: "https://push.example/1", p256dh: [UInt8](repeating: 1, count: 65),
        auth: [UInt8](repeating: 2, count: 16), expiresAt: expiresAt, notice: notice),
      wakeKey: wakeKey)
  }

  @Test func aRegistrationSurvivesTheRoundTrip() throws {
    for whole in [
      registration(), registration(expiresAt: 9), registration(expiresAt: 0, notice: notice),
      registration(wakeKey: "BKey"),
    ] {
      let body = whole.encodedBody()
      #expect(try WakeRegistrationBody.decoded(body: body, id: id) == whole)
      for count in 0..<body.count {
        #expect(
          refusal { () throws(Refusal) in
            try WakeRegistrationBody.decoded(body: Array(body.prefix(count)), id: id)
          }?.code == .badJSON)
      }
    }
  }

  /// Returns the body of a registration with this text as its notification.
  private func body(notification: String) -> [UInt8] {
    let whole = text(registration().encodedBody())
    return bytes(String(whole.dropLast()) + #","notification":\#(notification)}"#)
  }

  @Test(arguments: ["null", #"{"title":"t","navigate":"https://n.example","body":5}"#])
  func aNotificationIsOptionalAndLaterMembersAreIgnored(_ notification: String) throws {
    let whole = try WakeRegistrationBody.decoded(body: body(notification: notification), id: id)
    let expected = WakeNotice(title: "t", navigate: "https://n.example")
    #expect(whole.registration.notice == (notification == "null" ? nil : expected))
  }

  @Test(
    arguments: [
      ("[]", "`notification` must be an object."),
      ("{}", "`title` is missing."),
      (#"{"title":"t"}"#, "`navigate` is missing."),
      (#"{"title":""}"#, "`title` must be a string of 1 to 64 bytes."),
      (#"{"title":"\n"}"#, "`title` must be a string without control characters."),
      (#"{"navigate":5}"#, "`navigate` must be a string of 1 to 160 bytes."),
      (#"{"navigate":"http://n.example/"}"#, "`navigate` must be an https URL."),
      (#"{"navigate":"https://"}"#, "`navigate` must be an https URL."),
      (#"{"navigate":"https://n.example/\""}"#, "`navigate` must be an https URL."),
      (#"{"navigate":"https://n.example/ é"}"#, "`navigate` must be an https URL."),
      (#"{"navigate":"javascript:alert(1)"}"#, "`navigate` must be an https URL."),
    ] as [(String, String)])
  func aWrongNotificationIsRefused(_ notification: String, _ detail: String) {
    #expect(
      refusal { () throws(Refusal) in
        try WakeRegistrationBody.decoded(body: body(notification: notification), id: id)
      } == Refusal(.badRequest, detail))
  }
}
