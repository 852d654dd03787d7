import Glibc

exit(RootCommand.start().rawValue)
