import LockstepModel
import LockstepStorage
import Testing

/// The rules of wakes of one device; the contract of the stores has them too.
struct DeviceWakesTests {
  private let id = Name(trusted: "w")
  private let code: [UInt8] = [7]
  private let day: Int64 = 24 * 3_600_000

  private static func mark(_ sequence: Int64, generation: UInt32 = 1) -> WakeMark {
    WakeMark(generation: generation, sequence: sequence)
  }

  private func registration(
    _ id: String = "w", endpoint: String = "e", expiresAt: Int64? = nil,
    notice: WakeNotice? = nil
  ) -> WakeRegistration {
    WakeRegistration(
      id: Name(trusted: id), endpoint: endpoint, p256dh: [1], auth: [2], expiresAt: expiresAt,
      notice: notice)
  }

  /// Makes the registrations of a device that has everything up to 10, with one that is verified.
  private func registered(_ registration: WakeRegistration? = nil) throws -> DeviceWakes {
    var wakes = DeviceWakes(newest: Self.mark(10))
    let put = wakes.put(registration ?? self.registration(), keyMadeAt: 1, codeHash: code)
    #expect(put?.isNew == true && put?.isVerified == false)
    #expect(wakes.verify(id, codeHash: code, at: 5) == true)
    return wakes
  }

  private func keys(_ newest: Int64, since oldest: Int64 = 1) -> WakeKeyTimes {
    WakeKeyTimes(oldest: oldest, newest: newest)
  }

  private func finish(
    _ outcome: WakeResult.Outcome, at wall: Int64, _ wakes: inout DeviceWakes
  ) {
    let result = WakeResult(id: id, endpoint: "e", outcome: outcome)
    wakes.apply(.finished(.change, [result]), at: wall)
  }

  /// Sends a wake up to `sequence`.
  private func wake(_ sequence: Int64, at wall: Int64, _ wakes: inout DeviceWakes) {
    #expect(wakes.claim(newest: Self.mark(sequence), keys: keys(1), at: wall) != nil)
    finish(.sent, at: wall, &wakes)
  }

  // MARK: Registrations

  @Test func entriesStayInTheOrderOfTheirIds() throws {
    var wakes = DeviceWakes(newest: Self.mark(0))
    for id in ["c", "a", "d", "b", "a"] {
      let put = wakes.put(registration(id), keyMadeAt: 1, codeHash: code)
      #expect(put != nil)
    }
    #expect(wakes.statuses.map(\.id.text) == ["a", "b", "c", "d"])
    let more = wakes.put(registration("e"), keyMadeAt: 1, codeHash: code)
    #expect(more == nil)
    #expect(wakes.remove(Name(trusted: "e")) == false)
    for id in ["a", "b", "c", "d"] { #expect(wakes.remove(Name(trusted: id)) == true) }
    #expect(wakes.isEmpty)
  }

  @Test func aRegistrationWithAnotherNoticeStaysVerified() throws {
    var wakes = try registered()
    let notice = WakeNotice(title: "Notes", navigate: "https://notes.example/")
    let put = wakes.put(registration(notice: notice), keyMadeAt: 1, codeHash: [8])
    #expect(put?.isVerified == true)
    #expect(wakes.entry(id)?.registration.notice == notice)
    #expect(DeviceWakes(storedText: wakes.storedText) == wakes)
  }

  @Test func anExpiredRegistrationIsNotWoken() throws {
    var wakes = try registered(registration(expiresAt: 1_000))
    #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 999) == 0)
    #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 1_000) == nil)
    #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: 1_000) == nil)
    #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: 999)?.entries.count == 1)
  }

  // MARK: Wakes

  @Test func onlyALaterPositionOrAnotherGenerationIsDue() throws {
    let wakes = try registered()
    for (mark, isDue) in [
      (Self.mark(10), false), (Self.mark(9), false), (Self.mark(11), true),
      (Self.mark(1, generation: 2), true),
    ] {
      #expect((wakes.dueAt(newest: mark, keys: keys(1), at: 5) != nil) == isDue)
    }
  }

  @Test func pausesOfAWakeThatIsNotAnsweredDoubleUpToADay() throws {
    var wakes = try registered()
    var wall: Int64 = 1_000
    for pause in [30, 60, 120, 240, 480, 960, 1_440, 1_440].map({ Int64($0) * 60_000 }) {
      wake(11, at: wall, &wakes)
      #expect(wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: wall) == wall + pause)
      wall += pause
    }
  }

  @Test func whatWasAnnouncedAndAnsweredWithoutAProofIsAnnouncedLater() throws {
    var wakes = try registered()
    wake(11, at: 1_000, &wakes)
    #expect(wakes.contact(WakeContact(), at: 2_000) == true)
    #expect(wakes.statuses.map(\.answeredAt) == [2_000])
    let later: Int64 = 2_000 + 60 * 60_000
    #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 2_000) == later)
    #expect(wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: 2_000) == 5_000, "that is new")
    #expect(wakes.contact(WakeContact(), at: 3_000) == false, "nothing but a time has changed")
    #expect(wakes.contact(WakeContact(seen: Self.mark(11)), at: 4_000) == true)
    #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 4_000) == nil)
  }

  @Test func aContactWhileAPushIsUnderWayAnswersIt() throws {
    var wakes = try registered()
    #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: 1_000) != nil)
    #expect(wakes.contact(WakeContact(seen: Self.mark(11)), at: 1_100) == true)
    finish(.sent, at: 1_200, &wakes)
    #expect(wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: 2_000) == 4_100)
  }

  /// The first connection broke, so the push is sent again, after the device was there.
  @Test func aContactBeforeThePushDoesNotAnswerIt() throws {
    var wakes = try registered()
    #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: 1_000) != nil)
    #expect(wakes.contact(WakeContact(seen: Self.mark(11)), at: 1_100) == true)
    let late = WakeResult(id: id, endpoint: "e", outcome: .sent, sentAt: 4_200)
    wakes.apply(.finished(.change, [late]), at: 4_300)
    #expect(wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: 4_300) == 1_804_300)
  }

  @Test func aClockThatIsSetBackDelaysNothing() throws {
    var wakes = try registered()
    #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: 90 * day) != nil)
    finish(.failed(.throttled, retryAfter: day), at: 90 * day, &wakes)
    #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 90 * day) == 91 * day)
    #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 80 * day) == 80 * day)
  }

  // MARK: Keys of the relay

  @Test func aNewKeyIsToldOnceAndAgainOnlyIfThePushFailed() throws {
    var wakes = try registered()
    let newest = Self.mark(10)
    #expect(wakes.noticeDueAt(keys: keys(1), at: 100) == nil)
    #expect(wakes.noticeDueAt(keys: keys(2), at: 100) == 0)
    #expect(wakes.dueAt(newest: newest, keys: keys(2), at: 100) == nil, "nothing has changed")
    let first = wakes.claim(newest: newest, keys: keys(2), at: 100)
    #expect(first?.purpose == .newKey && first?.entries.map(\.keyMadeAt) == [1])
    let failed = WakeResult(id: id, endpoint: "e", outcome: .failed(.unavailable, retryAfter: nil))
    wakes.apply(.finished(.newKey, [failed]), at: 100)
    #expect(wakes.noticeDueAt(keys: keys(2), at: 100) == 1_800_100)
    #expect(wakes.claim(newest: newest, keys: keys(2), at: 1_800_100)?.purpose == .newKey)
    let told = WakeResult(id: id, endpoint: "e", outcome: .sent, toldKey: 2)
    wakes.apply(.finished(.newKey, [told]), at: 1_800_100)
    #expect(wakes.noticeDueAt(keys: keys(2), at: 1_800_100) == nil)
    #expect(DeviceWakes(storedText: wakes.storedText) == wakes)
    #expect(wakes.noticeDueAt(keys: keys(3), at: 1_800_100) == 0)
    // The device subscribes for the new key: a new registration, which is not verified.
    let put = wakes.put(registration(), keyMadeAt: 3, codeHash: code)
    #expect(put?.isNew == false && put?.isVerified == false)
    #expect(wakes.verify(id, codeHash: code, at: 70_000) == true)
    #expect(wakes.noticeDueAt(keys: keys(3), at: day) == nil)
  }

  /// One of the device's two registrations is for an older key, and its service takes no pushes.
  @Test func aNoticeThatFailsDisturbsNoOtherRegistration() throws {
    var wakes = try registered()
    let newKey = keys(2)
    let added = wakes.put(registration("new", endpoint: "f"), keyMadeAt: 2, codeHash: code)
    #expect(added?.isNew == true)
    #expect(wakes.verify(Name(trusted: "new"), codeHash: code, at: 6) == true)
    let newest = Self.mark(10)
    var wall: Int64 = 1_000
    for minutes in [30, 60, 120, 240, 480, 960, 1_440, 1_440] as [Int64] {
      #expect(wakes.noticeDueAt(keys: newKey, at: wall).map { $0 <= wall } == true)
      let claim = wakes.claim(newest: newest, keys: newKey, at: wall)
      #expect(claim?.purpose == .newKey && claim?.entries.map(\.registration.id) == [id])
      #expect(wakes.claim(newest: newest, keys: newKey, at: wall) == nil, "it is under way")
      let result = WakeResult(id: id, endpoint: "e", outcome: .failed(.keyRefused, retryAfter: nil))
      wakes.apply(.finished(.newKey, [result]), at: wall)
      // The device is there now and then, which is no reason for another attempt.
      _ = wakes.contact(WakeContact(seen: newest), at: wall + 1)
      #expect(wakes.noticeDueAt(keys: newKey, at: wall + 1) == wall + minutes * 60_000)
      #expect(DeviceWakes(storedText: wakes.storedText) == wakes)
      wall += minutes * 60_000
    }
    // A change is announced at once, to both.
    #expect(wakes.dueAt(newest: Self.mark(11), keys: newKey, at: wall).map { $0 <= wall } == true)
    let claim = wakes.claim(newest: Self.mark(11), keys: newKey, at: wall)
    #expect(claim?.purpose == .change && claim?.entries.count == 2)
  }

  @Test func aRegistrationForAnEndedOrUnknownKeyIsNotUsed() throws {
    var wakes = try registered()
    for unknown in [keys(3, since: 2), keys(0, since: 0), .none] {
      #expect(wakes.dueAt(newest: Self.mark(11), keys: unknown, at: 9) == nil)
      #expect(wakes.noticeDueAt(keys: unknown, at: 9) == nil)
      #expect(wakes.claim(newest: Self.mark(11), keys: unknown, at: 9) == nil)
    }
    #expect(!wakes.hasEndedKey(keys: keys(0, since: 0)), "that relay does not know it yet")
    #expect(wakes.hasEndedKey(keys: keys(3, since: 2)))
    wakes.apply(.keysEnded(keys(3, since: 2)), at: 9)
    #expect(wakes.statuses.map(\.fault) == [.keyRefused])
    #expect(!wakes.hasEndedKey(keys: keys(3, since: 2)))
  }

  @Test func aReplacedKeyIsInForceForThirtyDays() {
    let keys = [10, 20 * day, 40 * day].map { WakeKey(madeAt: $0, privateKey: [1]) }
    #expect([WakeKey]().inForce(at: 0) == [])
    #expect(keys.inForce(at: 41 * day) == keys)
    #expect(keys.inForce(at: 50 * day) == Array(keys.dropFirst()))
    #expect(keys.inForce(at: 70 * day) == [keys[2]])
    #expect(WakeKey(madeAt: 7, privateKey: [2]).after(keys).madeAt == 40 * day + 1)
    #expect(WakeKey(madeAt: 50 * day, privateKey: [2]).after(keys).madeAt == 50 * day)
  }

  @Test func whatWasSentIsAnnouncedSeveralTimesAtMost() throws {
    var wakes = try registered()
    #expect(wakes.contact(WakeContact(told: Self.mark(11)), at: 0) == true)
    var wakeCount = 0
    for number in 1...40 as ClosedRange<Int64> {
      let claim = wakes.claim(newest: Self.mark(11), keys: keys(1), at: number * day)
      if claim == nil { continue }
      finish(.sent, at: number * day, &wakes)
      wakeCount += 1
    }
    #expect(wakeCount == Limits.wakeRepeatsMax)
    #expect(wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: 0) != nil, "that was not sent")
    // The device proves something: what is sent then is announced anew.
    _ = wakes.contact(WakeContact(seen: Self.mark(11), told: Self.mark(12)), at: 50 * day)
    #expect(
      wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: 50 * day) == 50 * day + 30 * 60_000)
  }

  /// A connection that ends late writes what it has shown long ago.
  @Test func anEarlierContactThatIsWrittenLaterChangesNoPosition() throws {
    var wakes = try registered()
    #expect(
      wakes.contact(WakeContact(seen: Self.mark(12), told: Self.mark(13), at: 20), at: 20) == true)
    #expect(wakes.contact(WakeContact(seen: Self.mark(11), at: 10), at: 30) == false)
    #expect(wakes.progress.seen == Self.mark(12) && wakes.progress.told == Self.mark(13))
    let stored = try #require(DeviceWakes(storedText: wakes.storedText))
    #expect(stored == wakes)
    // A device that was restored from a backup begins before what it had, and so does one after the
    // relay's clock was set back.
    #expect(wakes.contact(WakeContact(seen: Self.mark(11), at: 40), at: 40) == true)
    #expect(wakes.contact(WakeContact(seen: Self.mark(14), at: 5), at: 6) == true)
    #expect(wakes.progress.seen == Self.mark(14))
  }

  @Test func aLaterContactOfTheSameTurnPrevails() {
    var contact = WakeContact(seen: Self.mark(1), told: Self.mark(5))
    contact.merge(WakeContact(seen: Self.mark(3)))
    #expect(contact == WakeContact(seen: Self.mark(3), told: Self.mark(5)))
  }

  // MARK: Failures

  @Test func pausesAfterFailuresDoubleUpToHalfAnHour() throws {
    var wakes = try registered()
    var wall: Int64 = 1_000
    for minutes in [1, 2, 4, 8, 16, 30, 30] as [Int64] {
      #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: wall) != nil)
      finish(.failed(.unavailable, retryAfter: nil), at: wall, &wakes)
      #expect(
        wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: wall) == wall + minutes * 60_000)
      wall += minutes * 60_000
    }
    #expect(wakes.statuses.map(\.fault) == [.unavailable])
    wake(11, at: wall, &wakes)
    #expect(wakes.statuses == [WakeStatus(id: id, verifiedAt: 5, sentAt: wall)])
  }

  @Test func aServicesPauseIsKeptUpToADay() throws {
    for (asked, kept) in [(90_000, 90_000), (Int64.max, day)] {
      var wakes = try registered()
      #expect(wakes.claim(newest: Self.mark(11), keys: keys(1), at: 0) != nil)
      finish(.failed(.throttled, retryAfter: asked), at: 0, &wakes)
      #expect(wakes.dueAt(newest: Self.mark(11), keys: keys(1), at: 0) == kept)
    }
  }

  /// The device was there meanwhile, but has not heard of the change.
  @Test func aWakeThatFailedHasAnnouncedNothing() throws {
    var wakes = try registered()
    #expect(wakes.claim(newest: Self.mark(12), keys: keys(1), at: 0) != nil)
    finish(.failed(.unavailable, retryAfter: nil), at: 0, &wakes)
    #expect(wakes.contact(WakeContact(told: Self.mark(11)), at: 120_000) == true)
    #expect(wakes.dueAt(newest: Self.mark(12), keys: keys(1), at: 120_000) == 123_000)
  }

  @Test func aRegistrationEndsOnlyIfTheServiceSaysSoTwice() throws {
    var wakes = try registered()
    finish(.gone, at: 0, &wakes)
    finish(.sent, at: 0, &wakes)
    finish(.gone, at: 0, &wakes)
    #expect(!wakes.isEmpty)
    finish(.gone, at: 0, &wakes)
    #expect(wakes.isEmpty)
  }

  @Test func thePushOfACodeLeavesWakesAsTheyAre() throws {
    var wakes = try registered()
    let progress = wakes.progress
    let failed = WakeResult(
      id: id, endpoint: "e", outcome: .failed(.notAllowed, retryAfter: nil))
    wakes.apply(.verification(failed), at: 9)
    #expect(wakes.statuses.map(\.fault) == [.notAllowed])
    wakes.apply(.verification(WakeResult(id: id, endpoint: "e", outcome: .gone)), at: 9)
    #expect(wakes.statuses.map(\.fault) == [.rejected])
    wakes.apply(.verification(WakeResult(id: id, endpoint: "e", outcome: .sent)), at: 9)
    #expect(wakes.statuses.map(\.fault) == [nil])
    #expect(wakes.progress == progress)
  }

  // MARK: Stored form

  @Test func theStoredFormHasEverything() throws {
    var wakes = try registered(registration(expiresAt: 9_000_000_000_000))
    let notice = WakeNotice(title: "é", navigate: "https://n.example/")
    _ = wakes.put(
      registration("v", endpoint: "é\"", expiresAt: 0, notice: notice), keyMadeAt: -3, codeHash: [])
    #expect(DeviceWakes(storedText: wakes.storedText) == wakes)
    wake(11, at: 1_000, &wakes)
    _ = wakes.contact(WakeContact(seen: Self.mark(9), told: Self.mark(12)), at: 2_000)
    wake(13, at: 90_000_000, &wakes)
    finish(.gone, at: 90_000_000, &wakes)
    finish(.failed(.keyRefused, retryAfter: 5), at: 90_000_001, &wakes)
    finish(.gone, at: 90_000_002, &wakes)
    #expect(wakes.claim(newest: Self.mark(13), keys: keys(1), at: 200_000_000) != nil)
    #expect(DeviceWakes(storedText: wakes.storedText) == wakes)
    #expect(
      wakes.storedText
        == #"{"announced":[1,13],"answered":2000,"claimed":200000000,"entries":[{"auth":"Ag","#
        + #""code":"","endpoint":"é\"","expires":0,"id":"v","key":-3,"#
        + #""navigate":"https://n.example/","p256dh":"AQ","title":"é"},"#
        + #"{"auth":"Ag","code":"Bw","ending":true,"endpoint":"e","expires":9000000000000,"#
        + #""fault":"keyRefused","id":"w","key":1,"p256dh":"AQ","sent":90000000,"verified":5}],"#
        + #""failures":3,"fresh":5000,"held":200060000,"repeat":200060000,"seen":[1,9],"#
        + #""told":[1,12],"unanswered":90000000,"wakes":1}"#)
  }

  @Test func aTextWithoutOptionalMembersIsRead() throws {
    let wakes = try #require(DeviceWakes(storedText: #"{"entries":[]}"#))
    #expect(wakes.isEmpty && wakes.progress.seen == nil && wakes.progress.heldUntil == 0)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"entries":{}}"#, #"{"entries":[{}]}"#, #"{"entries":[],"seen":[1]}"#,
    #"{"entries":[],"told":[-1,1]}"#, #"{"entries":[],"announced":[1,-1]}"#,
    #"{"entries":[],"wakes":-1}"#, #"{"entries":[],"failures":9000000000}"#,
    #"{"entries":[],"held":"1"}"#, #"{"entries":[],"answered":null}"#,
    #"{"entries":[{"id":"w","endpoint":"e","p256dh":"!","auth":"","key":1}]}"#,
    #"{"entries":[{"id":"","endpoint":"e","p256dh":"","auth":"","key":1}]}"#,
    #"{"entries":[{"id":"w","endpoint":"e","p256dh":"","auth":"","key":1,"sent":true}]}"#,
    #"{"entries":[{"id":"w","endpoint":"e","p256dh":"","auth":"","key":1,"code":"="}]}"#,
  ])
  func whatIsNotAStoredFormIsToldFromOne(_ text: String) {
    #expect(DeviceWakes(storedText: text) == nil)
  }
}
