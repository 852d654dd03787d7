import Simulator
import Testing

struct ShrinkerTests {
  @Test func twoThatFailOnlyTogetherAreFoundAmongMany() {
    var shrinker = Shrinker(tries: 200)
    let left = shrinker.shrink(Array(0..<100)) { $0.contains(17) && $0.contains(80) }
    #expect(left == [17, 80])
  }

  @Test func whatFailsByItselfNeedsNothing() {
    var shrinker = Shrinker(tries: 10)
    #expect(shrinker.shrink([1, 2, 3]) { _ in true }.isEmpty)
    #expect(shrinker.triesLeft == 9)
  }

  @Test func whatNeedsAllStaysWhole() {
    var shrinker = Shrinker(tries: 1_000)
    let all = Array(0..<9)
    #expect(shrinker.shrink(all) { $0 == all } == all)
  }

  @Test func nothingIsSmallerThanNothing() {
    var shrinker = Shrinker(tries: 10)
    #expect(shrinker.shrink([Int]()) { _ in true }.isEmpty)
    #expect(shrinker.triesLeft == 10)
  }

  /// If the tries are used up, the result may be larger than necessary, but it still fails.
  @Test(arguments: [0, 1, 5, 20]) func theTriesAreBounded(tries: Int) {
    var shrinker = Shrinker(tries: tries)
    var asked = 0
    let left = shrinker.shrink(Array(0..<64)) { list in
      asked += 1
      return list.contains(3) && list.contains(40)
    }
    #expect(asked <= tries)
    #expect(left.contains(3) && left.contains(40))
  }
}
