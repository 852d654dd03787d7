/// Checks `bytes` against a law, for a fuzzer: a broken law ends the process, like a crash. Returns
/// 0: the bytes may join the corpus.
package func hold(_ law: ([UInt8]) throws(BrokenLaw) -> Void, of bytes: [UInt8]) -> CInt {
  do throws(BrokenLaw) {
    try law(bytes)
    return 0
  } catch {
    preconditionFailure(error.description)
  }
}
