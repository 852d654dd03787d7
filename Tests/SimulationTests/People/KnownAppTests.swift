import LockstepApps
import Testing

@testable import LockstepSimulation

struct KnownAppTests {
  @Test func eachAppOfTheCatalogIsKnownByItsName() {
    #expect(KnownApp.allCases.map(\.rawValue).sorted() == AppCatalog.all.map(\.name).sorted())
    for known in KnownApp.allCases { #expect(known.app.name == known.rawValue) }
    #expect(KnownApp.words == ["all"] + AppCatalog.all.map(\.name))
  }

  @Test func eachAppHasItsOwnModel() {
    let models = KnownApp.allCases.map { "\(type(of: AppPlays.play(of: $0)))" }
    #expect(models == ["TimerPlay", "VaultPlay", "ClipboardPlay", "MemoPlay", "HabitPlay"])
  }

  @Test func anAppWithoutAUsageModelIsNotSimulated() {
    let catalog = ["timer", "todo", "memo"]
    #expect(KnownApp.chosen(by: "memo", among: catalog).apps == [.memo])
    #expect(KnownApp.chosen(by: "memo", among: catalog).advice == nil)
    let todo = KnownApp.chosen(by: "todo", among: catalog)
    #expect(todo.apps.isEmpty)
    #expect(todo.advice?.contains("no usage model for todo") == true)
    let all = KnownApp.chosen(by: "all", among: catalog)
    #expect(all.apps == [.timer, .memo] && all.unknown == ["todo"])
    #expect(KnownApp.chosen(by: "all").apps.count == KnownApp.allCases.count)
  }
}
