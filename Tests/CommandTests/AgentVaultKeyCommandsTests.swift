import Lockstep
import LockstepApps
import Testing

@testable import LockstepCommand

struct AgentVaultKeyCommandsTests {
  @Test(arguments: [
    (VaultPhrase.Fault.letters(44), "has 44"), (.word(3), "word 3"), (.checksum, "checksum"),
  ])
  func aSlipInAPhraseIsNamed(fault: VaultPhrase.Fault, word: String) {
    #expect(AgentVaultKeyCommands.explanation(fault).contains(word))
  }
}
