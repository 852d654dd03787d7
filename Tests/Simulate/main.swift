import Glibc

// Plays many worlds: see `Options.help`.
exit(Program.run(Array(CommandLine.arguments.dropFirst())))
