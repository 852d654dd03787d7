import LockstepWire
import Testing

struct HTTPDateTests {
  @Test(arguments: [
    (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777_000, "Sun, 06 Nov 1994 08:49:37 GMT"),
    (951_782_400_000, "Tue, 29 Feb 2000 00:00:00 GMT"),
    (4_107_542_399_999, "Sun, 28 Feb 2100 23:59:59 GMT"),
    (4_107_542_400_000, "Mon, 01 Mar 2100 00:00:00 GMT"), (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
  ])
  func datesAreWrittenAsHTTPHasThem(milliseconds: Int64, text: String) {
    #expect(HTTPDate.text(milliseconds) == text)
  }

  @Test(arguments: [0, 784_111_777_000, 951_782_400_000, 1_795_417_128_000, 4_107_542_399_000])
  func whatWasWrittenIsReadAgain(milliseconds: Int64) {
    #expect(HTTPDate.milliseconds(HTTPDate.text(milliseconds)) == milliseconds)
  }

  @Test(arguments: [
    "", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
    "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
    "\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}\u{1F600}x",
  ])
  func whatIsNoDateHasNoTime(text: String) { #expect(HTTPDate.milliseconds(text) == nil) }
}
