import LockstepClient
import LockstepCommandLine
import LockstepHome
import LockstepJSON
import LockstepLanguage
import LockstepModel
import LockstepStorage
import Testing

@testable import Lockstep

struct HomeStatusTests {
  private let identity = HomeIdentity(
    relay: "http://relay:5625",
    credentials: Credentials(
      account: AccountID(rawValue: 1), device: DeviceID(rawValue: 2), token: "secret"),
    deviceName: "phone")

  private func status(
    _ state: AgentStatus.State, _ change: (inout AgentStatus) -> Void = { _ in }
  ) -> HomeStatus {
    var status = AgentStatus()
    status.state = state
    change(&status)
    return HomeStatus(identity: identity, status: status)
  }

  @Test func theStatusIsInThePersonsLanguageAndItsJSONIsNot() {
    let parked = AgentStatus.Parked(
      key: RecordKey(zone: Name(trusted: "Memos"), name: Name(trusted: "m1")),
      refusal: Refusal(.recordTooLarge, "The record has 2 MB; divide it."))
    let offline = status(.offline(since: 0, reason: "Connection refused")) {
      ($0.waiting, $0.parkedCount, $0.parked) = (2, 1, [parked])
    }
    #expect(
      Language.japanese { offline.text(wall: 5_000) } == """
        デバイス    phone (\(identity.credentials.device.text))
        アカウント  \(identity.credentials.account.text)
        リレー      http://relay:5625
        同期        オフライン 5秒（接続が拒否されました）、未送信2件
        拒否        Memos/m1：1 件として保存するには大きすぎます。分割してください
        再試行      lockstep agent sync
        """)
    #expect(
      Language.chinese { offline.text(wall: 5_000) } == """
        设备      phone (\(identity.credentials.device.text))
        账户      \(identity.credentials.account.text)
        中继      http://relay:5625
        同步      离线 5 秒（连接被拒绝），2 项待发送
        被拒绝    Memos/m1：内容过大，无法作为一项存储；请拆分
        重试      lockstep agent sync
        """)
    let made = Language.japanese { status(.offline(since: 0, reason: "Connection refused")).json }
    #expect(made == status(.offline(since: 0, reason: "Connection refused")).json)
    #expect(made["reason"]?.string == "Connection refused")
  }

  @Test func aPersonIsToldWhereSyncStands() {
    #expect(status(.inSync) { $0.lastSync = 9_000 }.line(wall: 10_000) == "in sync, just now")
    #expect(status(.inSync) { $0.lastSync = 0 }.line(wall: 90_000) == "in sync, 90 s ago")
    #expect(status(.inSync) { $0.lastSync = 0 }.line(wall: 600_000) == "in sync, 10 min ago")
    #expect(status(.inSync) { $0.lastSync = 0 }.line(wall: 7_200_000) == "in sync, 2 h ago")
    #expect(status(.syncing) { $0.waiting = 1 }.line(wall: 0) == "syncing, 1 change waits")
    #expect(
      status(.offline(since: 0, reason: "refused")) { $0.waiting = 2 }.line(wall: 5_000)
        == "offline for 5 s (refused), 2 changes wait")
    #expect(status(.failed(reason: "revoked")).line(wall: 0) == "not syncing: revoked")
    #expect(
      status(.needsPerson) { ($0.parkedCount, $0.askingCount) = (1, 2) }.line(wall: 0)
        == "in sync, but 3 records wait for you")
    let blocked = status(.needsPerson) {
      ($0.blockedZones, $0.waiting) = ([Name(trusted: "Memos"), Name(trusted: "Vault")], 3)
    }
    #expect(
      blocked.line(wall: 0)
        == "in sync, but the account's plan does not include Memos, Vault, 3 changes wait")
    #expect(blocked.json["blockedZones"]?.array?.count == 2)
    let both = status(.needsPerson) {
      ($0.blockedZones, $0.waiting, $0.parkedCount) = ([Name(trusted: "Memos")], 1, 1)
    }
    #expect(
      both.line(wall: 0) == "in sync, but 1 record waits for you; and the account's plan does "
        + "not include Memos, 1 change waits")
    let full = status(.needsPerson) {
      ($0.chunksRefused, $0.waiting) = (Refusal(.quotaExceeded, "No room"), 1)
    }
    #expect(
      full.line(wall: 0) == "in sync, but files cannot be uploaded: No room, 1 change waits")
    #expect(status(.stopped).line(wall: 0) == "stopped")
  }

  @Test func aRelayThatRefusedOneRecordIsInReach() {
    #expect(status(.needsPerson) { $0.transport = .webSocket }.isInReach)
    #expect(status(.syncing) { $0.transport = .longPoll }.isInReach)
    #expect(!status(.offline(since: 0, reason: "refused")).isInReach)
    let parked = status(.needsPerson) { $0.parkedCount = 1 }
    #expect(
      parked.syncNote(syncsFurther: false) == "in sync, but 1 record waits for you")
  }

  @Test func aDeviceThatSleepsHasNoFault() {
    let asleep = status(.asleep(since: 0))
    #expect(asleep.line(wall: 60_000) == "asleep for 60 s, and woken by changes")
    #expect(asleep.connectionError == nil)
    #expect(!asleep.isInReach && !asleep.isInSync)
  }

  @Test func whoeverHoldsTheHomeGoesOnSyncing() {
    let syncing = status(.syncing) { $0.waiting = 1 }
    #expect(syncing.syncNote(syncsFurther: true) == "syncing, 1 change waits")
    #expect(syncing.syncNote(syncsFurther: false).contains("with the next command"))
    #expect(status(.inSync).syncNote(syncsFurther: true) == "synced")
  }

  @Test func aWrongClockIsNoReasonToTellAWrongTime() {
    let aDayBehind = status(.inSync) {
      $0.lastSync = 86_400_000
      $0.clockOffset = 86_400_000
    }
    #expect(aDayBehind.line(wall: 1_000) == "in sync, just now")
    #expect(aDayBehind.line(wall: 60_000) == "in sync, 60 s ago")
  }

  @Test func theSameIsReadInAnotherProcess() throws {
    let here = status(.offline(since: 5, reason: "refused")) {
      $0.waiting = 3
      $0.transport = .longPoll
      $0.clockOffset = -250
    }
    let there = HomeStatus(json: try JSONValue(parsing: here.json.serialized()))
    #expect(there.text(wall: 5) == here.text(wall: 5))
    #expect(there.json["state"]?.string == "offline")
    #expect(there.json["reason"]?.string == "refused")
    #expect(there.json["waiting"]?.int64 == 3)
    #expect(there.json["transport"]?.string == "long-poll")
    #expect(there.json["clockOffset"]?.int64 == -250)
    #expect(!there.isInSync && !there.isFailed)
  }

  @Test func parkedRecordsAreNamedWithTheirReason() {
    let key = RecordKey(zone: Name(trusted: "Notes"), name: Name(trusted: "first"))
    let parked = status(.needsPerson) {
      $0.parkedCount = 1
      $0.parked = [.init(key: key, refusal: Refusal(.recordTooLarge, "It is too large."))]
    }
    let told = parked.text(wall: 0)
    #expect(
      told.hasSuffix("parked    Notes/first: It is too large.\nretry     lockstep agent sync"))
  }

  @Test func whatIsTooLargeForTheWayIsToldWithTheReason() {
    let narrow = status(.needsPerson) {
      $0.setAsideCount = 1
      $0.waiting = 1
    }
    #expect(narrow.json["setAside"]?.int64 == 1)
    #expect(
      narrow.line(wall: 0) == "in sync, but something between this device and the relay refuses "
        + "large requests (status 413), 1 change waits")
  }

  @Test func theTokenStandsInTheCredentialsAlone() throws {
    #expect(!status(.inSync).json.text.contains("secret"))
    let member = try HomeAccess(HomeStatus.credentials(identity, cursor: nil))
    #expect(member.token == "secret")
    #expect(member.relay.url == "http://relay:5625")
    #expect(throws: CommandFailure.self) { try HomeAccess(["relay": "http://relay:5625"]) }
    #expect(throws: CommandFailure.self) { try HomeAccess(["relay": "relay", "token": "t"]) }
  }

  @Test func whatIsSwitchedOffAndWhatIsAskedIsSaid() {
    let clipboard = Name(trusted: "Clipboard")
    let off = status(.inSync) {
      $0.switchedOff = [.init(zone: clipboard, waiting: 2)]
    }
    #expect(off.line(wall: 0) == "in sync; Clipboard is switched off (2 changes wait)")
    #expect(off.waitingChanges(inDisabled: clipboard) == 2)
    #expect(off.waitingChanges(inDisabled: Name(trusted: "Memos")) == nil)
    let asked = status(.needsPerson) {
      $0.questions = [.init(app: "habits", zone: Name(trusted: "Habits"), count: 3)]
    }
    #expect(asked.line(wall: 0).contains("lockstep habits restore yes|wipe"))
    #expect(asked.restoreCount(of: "habits") == 3 && asked.restoreCount(of: "memo") == nil)
  }

  @Test func aPersonIsToldWhatADeviceIsPairedFor() {
    var limited = identity
    let scope = DeviceScope(zones: [Name(trusted: "Todos"), Name(trusted: "Memos")])
    limited.credentials.scope = scope
    var agent = AgentStatus()
    agent.state = .needsPerson
    (agent.zonesOutOfScope, agent.waiting) = ([Name(trusted: "Timer")], 2)
    let status = HomeStatus(identity: limited, status: agent)
    #expect(status.scope == scope)
    #expect(status.text(wall: 0).contains("\nscope     Memos, Todos\nsync "))
    #expect(
      status.line(wall: 0) == "in sync, but this device is not paired to change Timer, pair it "
        + "again, 2 changes wait")
    #expect(status.json["zonesOutOfScope"]?.array == ["Timer"])
    let whole = self.status(.inSync)
    #expect(whole.scope == .everything && !whole.text(wall: 0).contains("scope"))
    // A later program may know other limits.
    let later = HomeStatus(json: ["scope": ["access": "half"]])
    #expect(later.scope == nil && later.text(wall: 0).contains("scope     unknown"))
  }

  @Test func everyEditFailureHasASentence() {
    let scope = DeviceScope(zones: [Name(trusted: "Todos")])
    #expect(
      EditFailure.outOfScope(Name(trusted: "Timer"), scope).explanation.hasSuffix(
        "paired for Todos, without the zone Timer; pair this device again with a code of "
          + "lockstep agent pair --zones Todos,Timer"))
    #expect(EditFailure.tooLarge(bytes: 7).explanation.contains("7 bytes"))
    #expect(EditFailure.refused(EditRefusal("nothing runs")).explanation == "nothing runs")
    let full = EditFailure.storage(.diskFull(path: "/x")).explanation
    #expect(full.contains("/x") && !full.contains("may have been applied"))
    let failed = StorageError.failed(path: "/x", operation: "sync", detail: "disk I/O error")
    #expect(EditFailure.storage(failed).explanation.contains("may have been applied: check"))
    #expect(
      EditFailure.restoreFirst(app: "habits", count: 1).explanation.contains(
        "have 1 habit, and"))
    for failure in [EditFailure.outboxFull, .notJoined, .nothingToDecide, .stopping] {
      #expect(failure.explanation.count > 10)
    }
  }
}
