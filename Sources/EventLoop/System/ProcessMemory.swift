import Glibc

/// Memory and processor time of a process of this user, as Linux reports them
/// (proc_pid_status(5)).
package enum ProcessMemory {
  /// Returns the resident memory in bytes, or nil if the system does not report it.
  package static func resident(_ process: Int32) -> Int64? { statusBytes("VmRSS:", of: process) }

  /// Returns the peak of the resident memory in bytes, since the process's start or `resetPeak`.
  package static func peak(_ process: Int32) -> Int64? { statusBytes("VmHWM:", of: process) }

  /// Resets the peak to the memory that is resident now. If the system does not allow it, the peak
  /// stays that of the process's lifetime: too high, never too low.
  package static func resetPeak(_ process: Int32) {
    let descriptor = open("/proc/\(process)/clear_refs", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    _ = write(descriptor, "5", 1)
    close(descriptor)
  }

  /// Returns the processor time that the process has used, in nanoseconds (proc_pid_stat(5)); nil
  /// if the system does not report it.
  package static func processorTime(_ process: Int32) -> Int64? {
    guard let text = contents("/proc/\(process)/stat"), let end = text.lastIndex(of: ")") else {
      return nil
    }
    // The fields after the name, of which utime and stime are the 12th and the 13th.
    let fields = text[text.index(after: end)...].split(separator: " ")
    guard fields.count > 12, let user = Int64(fields[11]), let system = Int64(fields[12]) else {
      return nil
    }
    let ticks = Int64(sysconf(Int32(_SC_CLK_TCK)))
    return ticks > 0 ? (user + system) * (1_000_000_000 / ticks) : nil
  }

  private static func contents(_ path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 8 << 10)
    let count = read(descriptor, &buffer, buffer.count)
    return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
  }

  private static func statusBytes(_ name: String, of process: Int32) -> Int64? {
    guard let text = contents("/proc/\(process)/status"),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
      let kibibytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first
    else { return nil }
    return Int64(kibibytes).map { $0 << 10 }
  }
}
