import LockstepJSON
import LockstepRelayService
import Testing

struct ClientModuleTests {
  /// The hash is that of `printf abc | openssl dgst -sha256 -binary | base64`.
  @Test func thePathNamesTheVersionAndTheDescriptionNamesPathAndHash() throws {
    let pages = ClientModule.pages(Array("abc".utf8), version: "1.2.3")
    #expect(pages.map(\.path) == ["lockstep-1.2.3.js", "lockstep.json"])
    #expect(pages.map(\.isImmutable) == [true, false])
    let description = try #require(JSONValue(ifJSON: pages[1].bytes))
    #expect(
      description == [
        "version": "1.2.3", "module": "/lockstep-1.2.3.js",
        "integrity": "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=",
      ])
  }
}
