import Devices
import LocalStack
import Processes
import Record
import ServerProcesses
import Terminal

/// A whole Fanfare in a directory that stays, on ports that stay: Redis, Kafka, a simulator of each
/// platform, a worker, the API. Confined to the loop of its processes.
package final class DevelopmentStack {
  package static let streamer = "s42"
  package static let followers = 200
  private static let startTimeout: Duration = .seconds(20)

  package let ports: DevelopmentPorts
  package let key: String
  package let worker: RunProcess
  let directory: DevelopmentDirectory
  let stack: LocalStack
  private let api: RunProcess
  private let user: ExampleUser
  private let processes: ChildProcesses

  private init(
    _ directory: DevelopmentDirectory, _ ports: DevelopmentPorts, key: String, _ stack: LocalStack,
    _ user: ExampleUser, worker: RunProcess, api: RunProcess, _ processes: ChildProcesses
  ) {
    self.directory = directory
    self.ports = ports
    self.key = key
    self.stack = stack
    self.user = user
    self.worker = worker
    self.api = api
    self.processes = processes
  }

  package var url: String { "http://127.0.0.1:\(ports.api)" }
  package var configuration: String { stack.configuration }
  package var templateFile: String { directory.templateFile }
  var isWorkerReady: Bool { ScratchDirectory.exists(directory.workerReadyFile) }
  package var keyFile: String { directory.keyFile }

  /// Starts everything, and writes the example's audience where there is none. The group gives the
  /// worker its partitions some seconds later (the embedded broker waits for others to join, as
  /// Kafka does); until then events wait in Kafka.
  /// - Parameters:
  ///   - settings: of the worker and the API, `key=value`, over those of the configuration.
  ///   - now: ms since 1970.
  package static func start(
    in directory: DevelopmentDirectory, _ ports: DevelopmentPorts, settings: [String],
    _ processes: ChildProcesses, now: Int64
  ) async throws(LocalRunError) -> DevelopmentStack {
    let user = try ExampleUser()
    let key = try await directory.key(processes)
    let stack = try await LocalStack.start(
      processes, templates: directory.templateDirectory, lanes: 1,
      platforms: [
        .apns(["--port", "\(ports.apple)"]), .fcm(["--port", "\(ports.android)"]),
        .webpush(["--port", "\(ports.browsers)", "--seed", "\(ExampleUser.seed)"]),
      ],
      place: LocalStack.Place(
        redisPort: ports.redis, redisDirectory: DevelopmentDirectory.redis,
        kafkaPort: ports.kafka, sections: sections(ports)))
    do throws(LocalRunError) {
      // A trace of Ken's push finds it.
      let ours = ["templates.reload_interval=1s", "events.trace=all"]
      let flags = (ours + settings).flatMap { ["--set", $0] }
      let api = try processes.start(
        "api", [Executable.own, "api", "--config", stack.configuration] + flags)
      let worker = try LocalServers.startWorker(
        processes, configuration: stack.configuration,
        options: ["--ready-file", directory.workerReadyFile] + flags)
      try await seed(stack, user, now: now)
      try await processes.wait("the API did not listen", within: startTimeout, blaming: api) {
        LocalPort.isListening(ports.api) ? () : nil
      }
      return DevelopmentStack(
        directory, ports, key: key, stack, user, worker: worker, api: api, processes)
    } catch {
      stack.close()
      throw error
    }
  }

  /// Of the configuration, beside what a worker needs.
  private static func sections(_ ports: DevelopmentPorts) -> String {
    """
    log:
      format: text
    api:
      host: 127.0.0.1
      port: \(ports.api)
      keys_file: \(DevelopmentDirectory.apiKeys)

    """
  }

  /// Ken is the first row, the others are invented; none of them is dead or has muted the streamer.
  private static func seed(
    _ stack: LocalStack, _ user: ExampleUser, now: Int64
  ) async throws(LocalRunError) {
    guard try await !stack.hasFollowers(streamer) else { return }
    let audience = SyntheticAudience(
      followers: followers, seed: 41, topic: LocalStack.app,
      devices: [
        SyntheticDevices(.production, share: 0.5), SyntheticDevices(.fcm, share: 0.5),
      ], deadShare: 0, mutedShare: 0, boundAt: now)
    try await stack.seed(streamer: streamer, followers: followers + 1) { row in
      row == 0 ? user.row(boundAt: now) : audience.row(row - 1)
    }
  }

  /// Ends what works first, so that it can write what it has done, then the servers.
  package func stop() async {
    stack.close()
    await processes.stopAll(first: [api, worker])
  }

  // MARK: events

  /// Writes the example event.
  /// - Parameter id: of the event, in visible ASCII.
  package func sendExample(id: String) async throws(LocalRunError) {
    _ = try await stack.emit(GoLiveEvent(id: id, streamer: Self.streamer))
  }

  /// How many pushes each of Ken's devices was asked to take so far.
  func requests() async throws(LocalRunError) -> [Int] {
    var counts: [Int] = []
    for device in user.devices {
      let ledger = try await stack.simulators[device.simulator].ledger()
      counts.append(ledger[TokenKey(of: device.binding.token)]?.requests ?? 0)
    }
    return counts
  }

  /// The pushes on those of Ken's devices that were asked more often than before.
  func received(since before: [Int], until now: [Int]) async throws(LocalRunError) -> [ReceivedPush]
  {
    var received: [ReceivedPush] = []
    for (number, device) in user.devices.enumerated() where now[number] > before[number] {
      let simulator = stack.simulators[device.simulator]
      if let push = try await simulator.lastPush(to: device.binding.token) {
        received.append(ReceivedPush(device: device.title, push: push))
      }
    }
    return received
  }
}
