import LocalStack
import Processes
import Redis
import Terminal

/// The commands that the demo's user may type next. Each works as it stands, in the same directory.
package enum DemoLastWords {
  /// Has Redis write down what it holds, and says how to look at it: the demo's own redis-server
  /// ends with the demo.
  package static func keep(
    _ event: GoLiveEvent, _ stack: LocalStack, on console: Console
  ) async throws(LocalRunError) {
    let replies = try await stack.send(RedisPipeline(["SAVE"]))
    if let error = replies.firstError {
      throw LocalRunError(.failed, "redis-server cannot save: \(error.message)")
    }
    let server = try Executable.find("redis-server", package: "redis-server")
    let directory = Executable.shellQuoted(stack.processes.directory.path)
    let port = try LocalPort.findFree()
    console.line("Everything has stopped. To look into what Redis held:")
    console.line(
      "  \(Executable.shellQuoted(server)) --port \(port) --bind 127.0.0.1 --dir \(directory) "
        + "--save '' --daemonize yes")
    console.line("  redis-cli -p \(port) HGETALL '\(stack.keyspace.event(id: event.id))'")
    console.line("  redis-cli -p \(port) SHUTDOWN NOSAVE")
  }

  package static func whatNext(templates: String, on console: Console) {
    let program = Executable.nameAsCalled
    let template = Executable.shellQuoted("\(templates)/go-live.yaml")
    var commands = [
      ("A million followers, in as much memory", "\(program) demo --followers 1M"),
      ("Logs, configuration and what Redis held, kept", "\(program) demo --keep"),
      ("What one follower gets", "\(program) render \(template) --locale ja"),
    ]
    let hasLoadGenerator =
      (try? Executable.find("h2load", package: "nghttp2-client")) != nil
      && (try? Executable.find("nghttpd", package: "nghttp2-server")) != nil
    if hasLoadGenerator { commands.append(("How fast it is, beside h2load", "\(program) bench")) }
    console.line()
    console.line(console.styled("Try next", .bold))
    for (note, command) in commands {
      console.line("  " + console.styled(note, .dim))
      console.line("    \(command)")
    }
  }
}
