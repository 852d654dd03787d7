import LockstepJSON
import LockstepModel

/// Order of the habits, and the archived ones: one record of the zone. It is merged by a table of
/// rules, so that arranging habits never makes a conflict of a habit, which a person would have to
/// decide.
///
///     {"places": {habit: number}, "archived": [habit]}
package struct HabitList: Hashable, Sendable {
  package static let name = Name(trusted: "list")
  /// The newest place of each habit, and for each habit the newest archiving or unarchiving.
  package static let rules: MergeRules = ["places": .map, "archived": .set]

  /// Distance between neighbours that are numbered anew: room for twenty moves to one spot.
  static let step: Int64 = 1 << 20
  /// Greatest magnitude of a place, exact in every JSON number.
  static let placeLimit: Int64 = 1 << 50

  private let places: JSONValue?
  private let archived: Set<Name>

  package init(_ fields: JSONValue?) {
    places = fields?["places"]
    archived = Set(HabitList.archivedNames(fields))
  }

  static func archivedNames(_ fields: JSONValue?) -> [Name] {
    (fields?["archived"]?.array ?? []).compactMap { $0.string.flatMap { Name($0) } }
  }

  /// Returns nil for a habit that nobody has moved yet: it comes after the others, by its title.
  func place(of habit: Name) -> Int64? {
    guard let place = places?[habit.text]?.wholeNumber else { return nil }
    return (-HabitList.placeLimit...HabitList.placeLimit).contains(place) ? place : nil
  }

  func isArchived(_ habit: Name) -> Bool { archived.contains(habit) }

  /// Returns the places that change if a habit moves. Usually that is one, so that moves on two
  /// devices at once all count; where there is no room between the neighbours, all are numbered.
  ///
  /// - Parameters:
  ///   - others: the habits in their order, without the one that moves
  ///   - index: its new index, at most the number of the others
  static func placesAfterMove(
    of habit: HabitContents.Habit, to index: Int, among others: [HabitContents.Habit]
  ) -> [JSONMember] {
    if let place = placeBetween(
      index > 0 ? others[index - 1] : nil, index < others.count ? others[index] : nil)
    {
      return [member(habit, place)]
    }
    var order = others
    order.insert(habit, at: index)
    return order.enumerated().map { member($0.element, Int64($0.offset + 1) * step) }
  }

  /// Returns nil if there is none, or if a neighbour in front has none.
  private static func placeBetween(
    _ previous: HabitContents.Habit?, _ next: HabitContents.Habit?
  ) -> Int64? {
    guard let previous else {
      return next?.place.map { $0 - step }.flatMap { $0 < -placeLimit ? nil : $0 }
    }
    guard let start = previous.place else { return nil }
    guard let end = next?.place else { return start + step > placeLimit ? nil : start + step }
    let middle = start + (end - start) / 2
    return middle > start && middle < end ? middle : nil
  }

  private static func member(_ habit: HabitContents.Habit, _ place: Int64) -> JSONMember {
    JSONMember(habit.record.name.text, .number(JSONNumber(place)))
  }
}
