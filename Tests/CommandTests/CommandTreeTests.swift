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

  @Test func pairingNamesItsLimits() throws {
    let pair = AgentPairCommand.command
    let help = HelpText.text(for: [RootCommand.root, AgentCommand.command, pair])
    for option in ["--zones ZONE,…", "--read-only", "--expires SECONDS", "--no-vault"] {
      #expect(help.contains(option), "\(help)")
    }
    #expect(help.replacing("\n", with: " ").contains("Clipboard, Habits, Memos, Timer, Vault"))
    #expect(throws: ValueFault.self) { try AgentPairCommand.expires.entry.check("9") }
    #expect(throws: ValueFault.self) { try AgentPairCommand.expires.entry.check("601") }
    #expect(throws: Never.self) { try AgentPairCommand.expires.entry.check("600") }
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
