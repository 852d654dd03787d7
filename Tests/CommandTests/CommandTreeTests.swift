import LockstepCommandLine
import Testing

@testable import LockstepCommand

struct CommandTreeTests {
  @Test func everyCommandExplainsItselfInEightyColumns() {
    var paths = [[RootCommand.root]]
    while let path = paths.popLast() {
      let text = HelpText.text(for: path)
      #expect(text.split(separator: "\n").allSatisfy { $0.count <= 80 }, "\(text)")
      #expect(text.contains("--help") && text.hasSuffix("\n"))
      paths += (path.last?.subcommands ?? []).map { path + [$0] }
    }
  }

  @Test func everyDefaultIsAGoodValue() {
    var commands = [RootCommand.root]
    while let command = commands.popLast() {
      for entry in command.options {
        if case .default(let text) = entry.presence {
          #expect(throws: Never.self) { try entry.check(text) }
        }
      }
      #expect(Set(command.options.map(\.name)).count == command.options.count)
      #expect(command.action != nil || !command.subcommands.isEmpty)
      commands += command.subcommands
    }
  }
}
