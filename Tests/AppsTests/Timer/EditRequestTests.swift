import LockstepApps
import LockstepModel
import Testing

struct EditRequestTests {
  private let context = EditContext(current: nil, stamp: 1_000, device: DeviceID(rawValue: 2))

  @Test func aPressMakesTheTimersFields() throws {
    let request = EditRequest.timer(.start(length: 60_000), settings: nil)
    #expect(request.key == TimerApp.stateKey && request.type == TimerApp.stateType)
    let fields = try #require(try request.make(context))
    let edits = TimerState(fields: fields).edits
    #expect(edits.map(\.remaining) == [60_000])
    #expect(edits.map(\.timestamp) == [1_000])
    #expect(edits.map(\.deviceID) == [context.device.text])
  }

  @Test func whatMakesNoSenseIsRefusedInASentence() {
    let request = EditRequest.timer(.pause, settings: nil)
    #expect(throws: EditRefusal(TimerRefusal.nothingIsRunning.explanation)) {
      try request.make(context)
    }
  }
}
