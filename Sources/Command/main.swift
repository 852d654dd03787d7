import Glibc

exit(Lockstep.start().rawValue)
