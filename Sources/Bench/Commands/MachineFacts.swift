import Glibc

/// Facts about the machine of a bench; leaves out those that Linux does not report.
enum MachineFacts {
  static func all() -> [RunFact] {
    var facts: [RunFact] = []
    if let processor { facts.append(RunFact("processor", processor)) }
    let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    if cores > 0 { facts.append(RunFact("cores", "\(cores)")) }
    let (pages, pageBytes) = (sysconf(Int32(_SC_PHYS_PAGES)), sysconf(Int32(_SC_PAGESIZE)))
    if pages > 0, pageBytes > 0 {
      facts.append(RunFact("memory", "\(pages / (1 << 20 / pageBytes)) MiB"))
    }
    if let kernel { facts.append(RunFact("kernel", kernel)) }
    return facts
  }

  /// Name of the first processor (proc_cpuinfo(5)); not every kind of processor reports one.
  private static var processor: String? {
    let descriptor = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 4 << 10)
    let count = read(descriptor, &buffer, buffer.count)
    let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("model name") }),
      let colon = line.firstIndex(of: ":")
    else { return nil }
    let words = line[line.index(after: colon)...].split(whereSeparator: \.isWhitespace)
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  private static var kernel: String? {
    var names = utsname()
    guard uname(&names) == 0 else { return nil }
    return [text(names.sysname), text(names.release), text(names.machine)].joined(separator: " ")
  }

  /// Returns the C string in an array of a system structure.
  private static func text(_ letters: some Any) -> String {
    withUnsafeBytes(of: letters) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
