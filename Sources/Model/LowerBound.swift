extension Array {
  /// Returns the index of the first element for which `isBefore` is false; `count` if there is
  /// none. The elements for which it is true must be a prefix of the array.
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
