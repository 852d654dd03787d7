extension Array {
  /// The place of the first element that `isBefore` does not hold for, in a list where it holds
  /// for a beginning alone; `count` where it holds for all.
  package func lowerBound(where isBefore: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
