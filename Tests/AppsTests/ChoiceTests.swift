import LockstepApps
import LockstepModel
import Testing

struct ChoiceTests {
  private let choice = Choice(
    "memo",
    [
      Choice.Entry(name: "7b0c-1", title: "Milk"), Choice.Entry(name: "7b0c-2", title: "Plan A"),
      Choice.Entry(name: "9", title: "Plan B"), Choice.Entry(name: "x", title: "2"),
    ])

  private func refusal(_ word: String, _ choice: Choice) -> String? {
    do throws(EditRefusal) {
      _ = try choice.findEntry(word)
      return nil
    } catch {
      return error.reason
    }
  }

  @Test func aThingIsNamedByItsNumberNameOrTitle() throws {
    #expect(try choice.findEntry("1") == 0)
    #expect(try choice.findEntry("3") == 2)
    #expect(try choice.findEntry("milk") == 0)
    #expect(try choice.findEntry("MI") == 0)
    #expect(try choice.findEntry("plan b") == 2)
    #expect(try choice.findEntry("7b0c-2") == 1)
    // A whole name takes precedence over a number, and a number over a title.
    #expect(try choice.findEntry("9") == 2)
    #expect(try choice.findEntry("2") == 1)
  }

  @Test func whatIsNotOneThingIsRefusedWithTheNextStep() {
    #expect(refusal("5", choice) == "there is no memo 5; the last one is 4")
    #expect(refusal("0", choice) == "there is no memo 0; the last one is 4")
    #expect(refusal("plan", choice) == "2 of them are called so; give the number in the list")
    #expect(refusal("7b", choice) == "2 of them are called so; give the number in the list")
    #expect(refusal("bread", choice) == "there is no memo “bread”; give its number in the list")
    #expect(refusal("", choice) != nil)
    #expect(refusal("01", choice) != nil)
    #expect(refusal("1", Choice("memo", [])) == "there is no memo here")
    #expect(refusal("\u{1B}[2J", choice) == "there is no memo “[2J”; give its number in the list")
  }
}
