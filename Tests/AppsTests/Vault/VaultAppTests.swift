import Apps
import Changes
import Testing

struct VaultAppTests {
  @Test func theRelayIsToldOfEachPieceOnce() throws {
    let (a, b) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))
    let fields: JSONValue = ["chunks": [.string(a), .string(b), .string(a), 5, "short"]]
    let app = VaultApp()
    #expect(app.chunks(in: fields, of: VaultApp.fileType).map(\.text) == [a, b])
    #expect(app.chunks(in: fields, of: Name(trusted: "Other")).isEmpty)
    #expect(app.chunks(in: ["chunks": "none"], of: VaultApp.fileType).isEmpty)
  }
}
