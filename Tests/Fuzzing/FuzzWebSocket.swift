import WireLaws

/// What libFuzzer calls with each input that it makes.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  hold(WireLaw.webSocket, of: Array(UnsafeBufferPointer(start: start, count: count)))
}
