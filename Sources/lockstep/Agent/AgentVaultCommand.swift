/// `lockstep agent vault`: files that all devices share, sealed before they leave.
enum AgentVaultCommand {
  static let command = Command(
    name: "vault",
    summary: "Keeps files the same on all devices, sealed: the relay cannot read them.",
    discussion: """
      The vault's key is made on the account's first device with a vault, and never leaves a \
      device in the clear. Other devices get it with a code of lockstep agent pair, or from the \
      recovery phrase. docs/security.md tells what the relay can still see.
      """,
    subcommands: [
      AgentVaultKeyCommands.unlock, AgentVaultKeyCommands.phrase, AgentVaultKeyCommands.restore,
    ])
}
