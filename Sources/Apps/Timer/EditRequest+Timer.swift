import LockstepModel

extension EditRequest {
  /// Applies a timer event to the timer's record; refused if the event is not valid in the current
  /// state. `settings`: the settings record; nil: the defaults.
  package static func timer(_ event: TimerEvent, settings: Record?) -> EditRequest {
    EditRequest(key: TimerApp.stateKey, type: TimerApp.stateType) {
      context throws(EditRefusal) in
      do throws(TimerRefusal) {
        return try TimerApp.edit(
          event, current: context.current, settings: settings, stamp: context.stamp,
          device: context.device)
      } catch {
        throw EditRefusal(error.explanation)
      }
    }
  }
}
