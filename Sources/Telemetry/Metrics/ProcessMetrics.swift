/// Metrics of every process that is scraped.
package enum ProcessMetrics {
  package static let logLines = MetricFamily(
    "fanfare_log_lines_total", .counter, "Lines of the log, by level.", labels: ["level"])
  package static let droppedLogLines = MetricFamily(
    "fanfare_log_lines_dropped_total", .counter,
    "Lines of the log that standard error did not take, because nobody reads the pipe or the disk "
      + "is full.")
  package static let cpu = MetricFamily(
    "process_cpu_seconds_total", .counter,
    "CPU time of all threads, in user mode and in the kernel.")
  package static let startTime = MetricFamily(
    "process_start_time_seconds", .gauge,
    "When the process started, in seconds since 1970.")
  package static let resident = MetricFamily(
    "process_resident_memory_bytes", .gauge, "Resident memory.")

  /// In the order of the text.
  package static let all = [logLines, droppedLogLines, cpu, startTime, resident]

  package static func append(
    _ usage: ProcessUsage, startTime started: Double, _ log: LogStatistics,
    to text: inout PrometheusText
  ) {
    text.append(logLines, LogLevel.allCases.map { ([$0.name], Double(log.written[$0] ?? 0)) })
    text.append(droppedLogLines, Double(log.dropped))
    text.append(cpu, Double(usage.cpuNanoseconds) / 1_000_000_000)
    text.append(startTime, started)
    text.append(resident, Double(usage.residentBytes))
  }
}
