import LockstepStorage
import Testing

struct StorageErrorTests {
  @Test func everyFaultNamesTheStoreAndTheNextStep() {
    let faults: [(StorageError, String)] = [
      (.inUse(path: "/s", by: "process 7"), "process 7; stop that one first"),
      (.corrupt(path: "/s", detail: "torn"), "(torn); restore it from a backup"),
      (.tooNew(path: "/s", found: 3, known: 2), "schema 3, and this program knows up to 2"),
      (.readOnly(path: "/s"), "check its owner"),
      (.diskFull(path: "/s"), "free some, then try again"),
      (.failed(path: "/s", operation: "open", detail: "why"), "failed to open: why"),
      (.unavailable(path: "/s", detail: "cut off"), "not available: cut off; check its server"),
    ]
    for (fault, words) in faults {
      #expect(fault.description.contains("the store /s"))
      #expect(fault.description.contains(words))
    }
  }
}
