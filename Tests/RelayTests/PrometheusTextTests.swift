import LockstepModel
import LockstepWire
import Testing

@testable import LockstepRelay

struct HistogramTests {
  @Test func aBucketHasWhatIsAtMostItsBound() {
    var histogram = Histogram(bounds: [1, 10])
    for value: Int64 in [0, 1, 2, 10, 11, 500] { histogram.observe(value) }
    #expect(histogram.cumulative == [2, 4, 6])
    #expect(histogram.count == 6)
    #expect(histogram.sum == 524)
  }

  @Test func whatCameManyTimesIsCountedManyTimesAndTwoAddUp() {
    var histogram = Histogram(bounds: [1, 10])
    histogram.observe(5, times: 3)
    var other = Histogram(bounds: [1, 10])
    other.observe(1)
    histogram.add(other)
    #expect(histogram.cumulative == [1, 4, 4])
    #expect(histogram.sum == 16)
  }
}

struct PrometheusTextTests {
  @Test func decimalsAreExact() {
    for (value, text) in [
      (0, "0"), (100_000, "0.0001"), (2_500_000_000, "2.5"), (1, "0.000000001"),
      (10_000_000_000, "10"), (1_234_567_890, "1.23456789"),
    ] as [(Int64, String)] {
      #expect(PrometheusText.decimal(value, per: 1_000_000_000) == text)
    }
    #expect(PrometheusText.decimal(7, per: 1) == "7")
    #expect(PrometheusText.decimal(1_700_000_000_050, per: 1_000) == "1700000000.05")
  }

  @Test func aHistogramIsCumulative() {
    var histogram = Histogram(bounds: [1_000, 2_500])
    histogram.observe(900)
    histogram.observe(2_000)
    histogram.observe(9_000)
    var text = PrometheusText()
    text.add("took_seconds", "What it took.", histogram, scale: 1_000)
    #expect(
      text.text == """
        # HELP took_seconds What it took.
        # TYPE took_seconds histogram
        took_seconds_bucket{le="1"} 1
        took_seconds_bucket{le="2.5"} 2
        took_seconds_bucket{le="+Inf"} 3
        took_seconds_sum 11.9
        took_seconds_count 3

        """)
  }

  @Test func labelsAreEscaped() {
    var text = PrometheusText()
    text.add("a", .gauge, "A.", by: "l", [("x\"\\\n", 1)])
    #expect(text.text == "# HELP a A.\n# TYPE a gauge\na{l=\"x\\\"\\\\\\n\"} 1\n")
  }

  @Test func metricsShowWhatIsOnceAProcess() throws {
    let relay = TestRelay {
      $0.isOpen = true
      $0.version = "1.2.3"
      $0.startedAt = 1_700_000_000_500
    }
    let device = try relay.newAccount()
    let socket = try SocketClient(relay, as: device)
    let answer = try HTTPClient(relay, listenerKind: .admin).call("GET", "/metrics")
    let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n")
    for line in [
      "lockstep_build_info{version=\"1.2.3\"} 1", "process_start_time_seconds 1700000000.5",
      "lockstep_connections{transport=\"websocket\"} 1",
      "lockstep_connected_accounts 1", "lockstep_connected_devices 1",
      "# TYPE lockstep_commit_duration_seconds histogram",
      "lockstep_fsync_duration_seconds_count 0", "lockstep_fetch_duration_seconds_count 0",
      "lockstep_outbound_queue_bytes 0",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
    #expect(Set(lines).count == lines.count, "nothing stands twice")
    #expect(!lines.contains { $0.contains("certificate") }, "it has none")
    withExtendedLifetime(socket) {}
  }

  @Test func aNodeShowsWhatItsSourceMeasures() throws {
    var measures = StoreMeasures()
    measures.accounts = 3
    measures.commits.observe(2_000_000)
    measures.batches.observe(5)
    measures.databaseBytes = 4_096
    let source = measures
    var process = ProcessMeasures()
    process.residentBytes = 1_000
    process.processorNanoseconds = 2_500_000_000
    process.openDescriptors = 7
    process.mostDescriptors = 1_024
    let ofProcess = process
    var configuration = RelayConfiguration()
    configuration.version = "x"
    let upkeep = StoreUpkeep(
      backup: BackupResult(at: 9_000, isGood: false, detail: "no disk", goodAt: 1_500),
      check: CheckResult(at: 2_000, findings: 1, target: .store))
    let node = RelayNode(
      configuration: configuration, secrets: SecretSource { [UInt8](repeating: 0, count: $0) },
      random: SeededRandom(seed: 1),
      measures: MeasureSource(
        { source }, process: { ofProcess }, upkeep: { upkeep },
        certificateEnd: { 1_700_000_000_000 }))
    let text = node.services.metricsText
    #expect(text.contains("\nlockstep_accounts 3\n"))
    #expect(
      text.contains("\nlockstep_tls_certificate_expiry_timestamp_seconds 1700000000\n"))
    #expect(text.contains("\nlockstep_store_bytes 4096\n"))
    #expect(!text.contains("lockstep_log_bytes"), "nobody measured it")
    #expect(!text.contains("lockstep_disk_free_bytes"), "nobody measured it")
    #expect(text.contains("\nlockstep_last_backup_timestamp_seconds 1.5\n"))
    #expect(text.contains("\nlockstep_last_check_timestamp_seconds 2\n"))
    #expect(text.contains("\nlockstep_last_check_ok 0\n"))
    #expect(text.contains("\nprocess_resident_memory_bytes 1000\n"))
    #expect(text.contains("\nprocess_cpu_seconds_total 2.5\n"))
    #expect(text.contains("\nprocess_open_fds 7\n"))
    #expect(text.contains("\nprocess_max_fds 1024\n"))
    #expect(text.contains("\nlockstep_commit_duration_seconds_sum 0.002\n"))
    #expect(text.contains("\nlockstep_commit_duration_seconds_bucket{le=\"0.0025\"} 1\n"))
    #expect(text.contains("\nlockstep_commit_requests_bucket{le=\"4\"} 0\n"))
    #expect(text.contains("\nlockstep_commit_requests_bucket{le=\"8\"} 1\n"))
  }
}
