import LockstepApps
import LockstepModel
import Testing

struct AppCatalogTests {
  @Test func everyTypeHasItsRule() {
    #expect(AppCatalog.resolver(forType: "TimerState") is TimerResolver)
    #expect(AppCatalog.resolver(forType: "Settings") is RuleResolver)
    #expect(AppCatalog.resolver(forType: "VaultFile") is VaultFileResolver)
    #expect(AppCatalog.resolver(forType: "ClipboardItem") is RuleResolver)
    #expect(AppCatalog.resolver(forType: "Memo") is MemoResolver)
    #expect(AppCatalog.resolver(forType: "Habit") is RuleResolver)
    #expect(AppCatalog.resolver(forType: "CheckIn") is CheckInResolver)
    #expect(AppCatalog.resolver(forType: "HabitList") is RuleResolver)
  }

  @Test func aTypeBelongsToItsApp() {
    let types = [
      (VaultApp() as any App, VaultApp.fileType), (ClipboardApp(), ClipboardApp.itemType),
      (MemosApp(), MemosApp.memoType), (HabitsApp(), HabitsApp.habitType),
      (HabitsApp(), HabitsApp.checkInType), (HabitsApp(), HabitsApp.listType),
      (TimerApp(), TimerApp.stateType),
    ]
    for (app, type) in types {
      #expect(app.resolver(for: type) != nil)
      let others = AppCatalog.all.filter { $0.name != app.name }
      #expect(others.count == AppCatalog.all.count - 1)
      #expect(others.allSatisfy { $0.resolver(for: type) == nil })
    }
  }

  @Test func unknownTypesHaveNone() {
    for type in ["", "timerstate", "TimerState ", String(repeating: "T", count: 300)] {
      #expect(AppCatalog.resolver(forType: type) == nil)
    }
  }

  @Test func namesAndZonesStandOnce() {
    let apps = AppCatalog.all
    #expect(Set(apps.map(\.name)).count == apps.count)
    #expect(Set(apps.map(\.zone)).count == apps.count)
  }
}
