import LockstepModel
import Testing

struct LowerBoundTests {
  @Test func everyNumberHasItsPlace() {
    for count in 0..<9 {
      let numbers = (0..<count).map { $0 * 2 }
      for number in -1...(2 * count) {
        let place = numbers.lowerBound { $0 < number }
        #expect(numbers[..<place].allSatisfy { $0 < number })
        #expect(numbers[place...].allSatisfy { $0 >= number })
      }
    }
  }
}
