import Glibc
import Kafka
import Processes

/// An Apache Kafka. `FANFARE_KAFKA_HOME` names a directory with a script `broker` (`broker start
/// DIR`, with `--secure` or without, prints `host:port`, `broker stop DIR` ends it);
/// without it the tests that want it are skipped, since Kafka needs Java and half a gigabyte.
///
/// It is one of its own, in a scratch directory, or, where `TESTS_KAFKA_ADDRESS_FILE` names a
/// file, the one whose address that file holds or will hold: others use it too. One that wants a
/// login, or is to be killed, is always one of its own.
package final class RealKafka: Sendable {
  /// The only user there is, with SASL's PLAIN over TLS.
  package struct Login: Sendable {
    package let username = "fanfare"
    package let password = "fanfare-secret"
    package let caFile: String
  }

  package static let home = variable("FANFARE_KAFKA_HOME")

  package let bootstrapServers: String
  /// Nil where anybody may write and read, in the clear.
  package let login: Login?
  private let own: (script: String, directory: ScratchDirectory)?

  package init(wantsLogin: Bool = false, isOwn: Bool = false) throws(LocalRunError) {
    if !wantsLogin, !isOwn, let file = Self.variable("TESTS_KAFKA_ADDRESS_FILE") {
      own = nil
      login = nil
      bootstrapServers = try Self.address(in: file)
      return
    }
    guard let home = Self.home else {
      throw LocalRunError(.failed, "FANFARE_KAFKA_HOME is not set")
    }
    let script = home + "/broker"
    let (directory, address) = try Self.start(script, wantsLogin ? ["--secure"] : [])
    own = (script, directory)
    login = wantsLogin ? Login(caFile: directory.file("ca.pem")) : nil
    bootstrapServers = address
  }

  /// Tried again: a cluster's random name that begins with a hyphen is taken for an option, which
  /// is so one time in 64.
  private static func start(
    _ script: String, _ options: [String]
  ) throws(LocalRunError) -> (directory: ScratchDirectory, address: String) {
    var attemptsLeft = 3
    while true {
      attemptsLeft -= 1
      let directory = try ScratchDirectory()
      do throws(LocalRunError) {
        let output = try ChildProcess.run([script, "start", directory.path] + options)
        if let line = output.split(separator: "\n").last { return (directory, String(line)) }
        throw LocalRunError(.failed, "\(script) start printed no address")
      } catch {
        guard attemptsLeft > 0 else { throw error }
      }
    }
  }

  deinit {
    guard let own else { return }
    _ = try? ChildProcess.run([own.script, "stop", own.directory.path])
  }

  /// Of one of its own: SIGKILL.
  package func kill() throws(LocalRunError) { try run("kill") }

  /// Starts it again where it was, with what it had on disk; returns when it serves.
  package func start() throws(LocalRunError) { try run("start") }

  private func run(_ order: String) throws(LocalRunError) {
    guard let own else { throw LocalRunError(.failed, "others use this Kafka, too") }
    _ = try ChildProcess.run([own.script, order, own.directory.path])
  }

  /// Runs one of Kafka's own tools, by the name of its class, to its end.
  package static func run(tool: String, _ arguments: [String]) throws(LocalRunError) {
    guard let home else { throw LocalRunError(.failed, "FANFARE_KAFKA_HOME is not set") }
    let java = variable("JAVA_HOME").map { $0 + "/bin/java" } ?? "java"
    // A tool's life is so short that no better compiler or collector pays.
    _ = try ChildProcess.run(
      [
        java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", home + "/libs/*",
        "org.apache.kafka.tools." + tool,
      ] + arguments)
  }

  /// As `KafkaAdmin.createTopics`, tried for a minute: a broker that answers may still be fenced,
  /// and refuses topics until it is not. It may also answer before it knows itself what it has
  /// made: returns when it does.
  package func createTopics(
    _ topics: [(name: String, partitions: Int)], as options: KafkaOptions
  ) throws(KafkaError) {
    try createTopics(
      topics.map { KafkaTopic($0.name, partitions: $0.partitions, replicas: 1) }, as: options)
  }

  /// The same, of topics with a configuration.
  package func createTopics(_ topics: [KafkaTopic], as options: KafkaOptions) throws(KafkaError) {
    let admin = KafkaAdmin(options, log: { _ in })
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      do throws(KafkaError) {
        for case .failed(let error) in try admin.create(topics, timeout: .seconds(20)).map(\.1) {
          throw error
        }
        let known = try admin.metadata(topics: topics.map(\.name), timeout: .seconds(20)).partitions
        if topics.allSatisfy({ known[$0.name] ?? 0 >= $0.partitions }) { return }
        throw KafkaError(code: .unknownTopic, message: "the broker does not know what it has made")
      } catch {
        guard ContinuousClock.now < deadline else { throw error }
      }
      _ = poll(nil, 0, 100)
    }
  }

  /// Waits until the file is there: the broker needs seconds to start. An empty file says that it
  /// did not.
  private static func address(in file: String) throws(LocalRunError) -> String {
    let deadline = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < deadline {
      guard let handle = fopen(file, "r") else {
        _ = poll(nil, 0, 50)
        continue
      }
      defer { fclose(handle) }
      var bytes = [UInt8](repeating: 0, count: 256)
      let count = fread(&bytes, 1, bytes.count, handle)
      guard count > 0 else { throw LocalRunError(.failed, "the tests' Kafka did not start") }
      return String(decoding: bytes[..<count], as: UTF8.self)
    }
    throw LocalRunError(.failed, "no Kafka came within five minutes: there is no \(file)")
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
  }
}
