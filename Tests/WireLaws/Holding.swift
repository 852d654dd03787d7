/// Holds `bytes` against a law, for a fuzzer: a broken one ends the process, as a crash does. 0:
/// the bytes may join the corpus.
package func hold(_ law: ([UInt8]) throws(BrokenLaw) -> Void, of bytes: [UInt8]) -> CInt {
  do throws(BrokenLaw) {
    try law(bytes)
    return 0
  } catch {
    preconditionFailure(error.description)
  }
}
