import LockstepJSON

/// Field of the rule `counter`, in its JSON form `{"device": [up, down]}`.
package enum CounterField {
  /// The sum of all parts, limited to the range of `Int64`. Parts of another form count as nothing.
  package static func value(of field: JSONValue?) -> Int64 {
    (field?.members ?? []).reduce(0) { sum, member in
      let part = part(member.value)
      return sum.addingInRange(part.up.addingInRange(-part.down))
    }
  }

  /// Returns the field after a device has counted `number`, up or down.
  package static func adding(_ number: Int64, to field: JSONValue?, by device: String)
    -> JSONValue
  {
    var part = part(field?[device])
    if number >= 0 {
      part.up = part.up.addingInRange(number)
    } else {
      part.down = part.down.addingInRange(Int64(clamping: number.magnitude))
    }
    let pair: JSONValue = [.number(JSONNumber(part.up)), .number(JSONNumber(part.down))]
    return (field ?? [:]).setting(device, to: pair)
  }

  /// Returns what was counted between two versions of the field: each part only ever grows, so a
  /// part that is less in the second is of an older version.
  package static func counted(from before: JSONValue?, to after: JSONValue?) -> Int64 {
    (after?.members ?? []).reduce(0) { sum, member in
      let (new, old) = (part(member.value), part(before?[member.name]))
      return sum.addingInRange(max(0, new.up - old.up)).addingInRange(-max(0, new.down - old.down))
    }
  }

  private static func part(_ value: JSONValue?) -> (up: Int64, down: Int64) {
    guard let numbers = value?.array, numbers.count == 2, let up = numbers[0].wholeNumber,
      let down = numbers[1].wholeNumber
    else { return (0, 0) }
    return (max(0, up), max(0, down))
  }
}

extension Int64 {
  /// Sum that stays in range.
  fileprivate func addingInRange(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other > 0 ? .max : .min) : sum
  }
}
