import Processes

/// `fanfare api` on a free port of 127.0.0.1, beside a Redis; there is no Kafka.
package struct APIProcess {
  package let process: RunProcess
  package let port: Int
  /// Of somebody who may bind.
  package let key: String

  private static let startTimeout: Duration = .seconds(20)

  /// Waits until it listens. Its audit lines go to a file, so that writing them is measured, too.
  package static func start(
    _ processes: ChildProcesses, redisPort: Int
  ) async throws(LocalRunError) -> APIProcess {
    let maker = try processes.start(
      "api-key", [Executable.own, "api-key", "bench", "--scope", "app-server", "--json"])
    _ = try await processes.finish(maker, within: startTimeout)
    let made = try JSONReport(
      Array((ScratchDirectory.read(maker.outputFile) ?? "").utf8), of: "fanfare api-key")
    try processes.directory.write(try made.text("line") + "\n", to: "api-keys")
    let port = try LocalPort.findFree()
    let configuration = try processes.directory.write(
      """
      redis: { port: \(redisPort) }
      kafka: { bootstrap_servers: ["127.0.0.1:1"] }
      api: { port: \(port), keys_file: api-keys, requests_per_second: 1000000 }

      """, to: "api.yaml")
    let process = try processes.start("api", [Executable.own, "api", "--config", configuration])
    try await processes.wait("the API did not listen", within: startTimeout, blaming: process) {
      LocalPort.isListening(port) ? () : nil
    }
    return APIProcess(process: process, port: port, key: try made.text("key"))
  }
}
