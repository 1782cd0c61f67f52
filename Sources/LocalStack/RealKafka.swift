import Glibc

/// One Apache Kafka in a directory of its own. `FANFARE_KAFKA_HOME` names a directory with a script
/// `broker` (`broker start DIR` prints `host:port`, `broker stop DIR` ends it); without it the
/// tests that want it are skipped, since Kafka needs Java and half a gigabyte.
package final class RealKafka: Sendable {
  package static let home = getenv("FANFARE_KAFKA_HOME").flatMap {
    $0.pointee == 0 ? nil : String(cString: $0)
  }

  package let bootstrapServers: String
  private let script: String
  private let directory: ScratchDirectory

  package init() throws {
    guard let home = Self.home else {
      throw LocalStackError(.failed, "FANFARE_KAFKA_HOME is not set")
    }
    script = home + "/broker"
    directory = try ScratchDirectory()
    let output = try ChildProcess.run([script, "start", directory.path])
    guard let line = output.split(separator: "\n").last else {
      throw LocalStackError(.failed, "\(script) start printed no address")
    }
    bootstrapServers = String(line)
  }

  deinit { _ = try? ChildProcess.run([script, "stop", directory.path]) }
}
