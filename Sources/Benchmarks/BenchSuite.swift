import Processes
import Terminal

/// The sections of a bench, one after the other.
package struct BenchSuite: Sendable {
  package enum Section: String, CaseIterable, Sendable {
    case deliver, worker, memory, latency, neighbours, fairness, apns, scale, cluster, api
  }

  private let sections: [Section]

  package init(_ sections: [Section]) { self.sections = sections }

  /// Before minutes have been spent.
  private func requirePrograms() throws(LocalRunError) {
    if sections != [.deliver] {
      _ = try Executable.find("redis-server", package: "redis-server")
    }
    if sections.contains(.deliver) {
      _ = try Executable.find("nghttpd", package: "nghttp2-server")
    }
    if sections.contains(.deliver) || sections.contains(.worker) {
      _ = try Executable.find("h2load", package: "nghttp2-client")
    }
    if sections.contains(.api) { _ = try Executable.find("wrk", package: "wrk") }
  }

  package func run(
    _ options: BenchOptions, _ processes: ChildProcesses
  ) async throws(LocalRunError) -> BenchResults {
    try requirePrograms()
    options.talk.line(
      options.talk.styled("Fanfare bench", .bold)
        + ": \(sections.map(\.rawValue).joined(separator: ", ")), \(options.runs) runs each")
    var results = BenchResults()
    for section in sections {
      switch section {
      case .deliver:
        results.add(try await DeliverBench(processes: processes, options: options).run())
      case .worker:
        results.add(try await WorkerBench(processes: processes, options: options).run())
      case .memory:
        results.add(try await MemoryBench(processes: processes, options: options).run())
      case .latency:
        results.add(try await LatencyBench(processes: processes, options: options).run())
      case .neighbours:
        results.add(try await NeighboursBench(processes: processes, options: options).run())
      case .fairness:
        results.add(try await FairnessBench(processes: processes, options: options).run())
      case .apns:
        results.add(try await APNsBench(processes: processes, options: options).run())
      case .scale:
        results.add(try await ScaleBench(processes: processes, options: options).run())
      case .cluster:
        results.add(try await ClusterBench(processes: processes, options: options).run())
      case .api:
        results.add(try await APIBench(processes: processes, options: options).run())
      }
      await processes.stopAll()
    }
    return results
  }
}
