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

  @Test func everyCommandHasAPageInPlainText() {
    let pages = ManualPage.all(below: [RootCommand.root], version: "1", day: "2026-01-01")
    #expect(Set(pages.map(\.name)).count == pages.count)
    for page in pages {
      let lines = page.text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst()
      #expect(lines.allSatisfy { $0.utf8.count <= 80 && !$0.hasSuffix(" ") }, "\(page.name)")
      #expect(page.text.utf8.allSatisfy { $0 < 0x80 }, "\(page.name)")
    }
  }

  @Test func everyCompletionIsUnderstood() {
    var paths = [[RootCommand.root]]
    while let path = paths.popLast() {
      let words = path.dropFirst().map(\.name)
      let found = Completion(of: words + [""], root: RootCommand.root).candidates.map(\.word)
      let subcommands = (path.last?.subcommands ?? []).map(\.name)
      #expect(subcommands.allSatisfy(found.contains), "\(words)")
      for entry in path.last?.options ?? [] where !entry.isFlag {
        let values = Completion(of: words + ["--\(entry.name)", ""], root: RootCommand.root)
        // A list begins with NAME= where the value is for a person to type.
        for value in values.candidates.map(\.word) where !value.hasSuffix("=") {
          #expect(throws: Never.self) { try entry.check(value) }
        }
      }
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
