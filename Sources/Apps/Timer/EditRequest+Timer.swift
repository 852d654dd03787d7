import LockstepModel

extension EditRequest {
  /// What a press of a timer's button makes of its record; refused where it makes no sense then.
  /// `settings`: the person's settings; nil: the usual ones.
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
