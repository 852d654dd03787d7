/// Tags that an account's history has passed over: those after `after`, up to `through`.
///
/// A *run* begins when a store is opened to be written, and has a number of its own, an
/// `OpeningNumber`. With an account's first save in a run its tags go on from the time of that
/// opening, above all that were given before:
///
///     first run         second                third
///     1 2 3 … 100       20001 … 20007         30001 …
///                ‹ gap ›             ‹  gap  ›
///
/// So where the store as a whole goes back to a former state, what it gives then is not what it
/// gave before, and who comes with what is lost is recognised: the tag lies in a gap.
public struct TagGap: Hashable, Sendable {
  public var after: ChangeTag
  public var through: ChangeTag

  public init(after: ChangeTag, through: ChangeTag) {
    self.after = after
    self.through = through
  }

  public func contains(_ tag: ChangeTag) -> Bool { tag > after && tag <= through }
}
