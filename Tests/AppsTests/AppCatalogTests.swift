import Apps
import Changes
import Testing

struct AppCatalogTests {
  @Test func everyTypeHasItsRule() {
    #expect(AppCatalog.resolver(forType: "TimerState") is TimerResolver)
    #expect(AppCatalog.resolver(forType: "Settings") is SettingsResolver)
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
