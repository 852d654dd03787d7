import Glibc

// Plays many simulations: see `Options.help`.
exit(Program.run(Array(CommandLine.arguments.dropFirst())))
