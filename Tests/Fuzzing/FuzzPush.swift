import PushLaws
import WireLaws

/// Entry point that libFuzzer calls with each input.
@_cdecl("LLVMFuzzerTestOneInput")
package func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  hold(PushLaw.check, of: Array(UnsafeBufferPointer(start: start, count: count)))
}
