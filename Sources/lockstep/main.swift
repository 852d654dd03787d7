import Glibc

exit(Lockstep.run(Array(CommandLine.arguments.dropFirst())).rawValue)
