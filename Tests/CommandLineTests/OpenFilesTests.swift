import Glibc
import Testing

@testable import LockstepCommandLine

struct OpenFilesTests {
  @Test func aProcessMayOpenAsManyAsTheSystemLets() {
    OpenFiles.raiseLimit()
    var limit = rlimit()
    #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    #expect(limit.rlim_cur == limit.rlim_max)
  }
}
