import LocalStack
import Processes
import Terminal

/// The words of a development stack about itself.
enum DevelopmentWords {
  /// A table of the servers and their ports, without a line break at its end.
  /// - Parameter hasKeys: false where nobody presses keys.
  static func table(_ stack: DevelopmentStack, hasKeys: Bool) -> String {
    let ports = stack.ports
    func local(_ port: Int) -> String { "127.0.0.1:\(port)" }
    var table = Table([.init("What"), .init("Where"), .init("")])
    let logs = "log: \(relative(stack.worker.logFile, stack))"
    let key = hasKeys ? "press b for its key" : "key: in \(relative(stack.keyFile, stack))"
    table.add(["dashboard, API", stack.url, key])
    table.add(["worker", "process \(stack.worker.processID)", logs])
    table.add(["Redis", local(ports.redis), "kept between runs"])
    table.add(["Kafka", local(ports.kafka), "embedded, in memory"])
    table.add(["Apple", local(ports.apple), "simulated"])
    table.add(["Android", local(ports.android), "simulated"])
    table.add(["browsers", local(ports.browsers), "simulated"])
    table.add(["texts", relative(stack.templateFile, stack), "see below"])
    let rows = table.text(width: nil).split(separator: "\n").map { "  \($0)" }
    return """
      Fanfare runs in \(stack.directory.directory.path)

      \(rows.joined(separator: "\n"))

      Ken (user ken: an iPhone, an Android phone, a browser) and \(DevelopmentStack.followers) \
      others follow streamer \(DevelopmentStack.streamer).

      \(editing(stack, hasKeys: hasKeys))

      For other commands:
        export FANFARE_CONFIG=\(Executable.shellQuoted(stack.configuration))
      To send an event:
        \(example)

      """
  }

  private static func editing(_ stack: DevelopmentStack, hasKeys: Bool) -> String {
    let steps =
      hasKeys
      ? """
      Press b for a link to the dashboard: its view Templates shows the change as on a phone.
      e sends it to Ken and the others, u undoes it.
      """ : "The dashboard's view Templates shows the change as on a phone; the next event has it."
    return """
      To change what a push says, edit and save
        \(stack.templateFile)
      The texts of each language are at its end, under locales. Leave {{...}} as they are.
      \(steps)
      """
  }

  /// As somebody types it in another shell.
  private static var example: String {
    "\(Executable.nameAsCalled) emit --streamer \(DevelopmentStack.streamer) "
      + "--app \(LocalStack.app) --name Aiko --title 'Speedrun night'"
  }

  /// For scripts.
  static func ready(_ stack: DevelopmentStack) -> JSONOutput {
    let ports = stack.ports
    return [
      "directory": .text(stack.directory.directory.path),
      "configuration": .text(stack.configuration), "template": .text(stack.templateFile),
      "url": .text(stack.url), "key_file": .text(stack.keyFile),
      "worker_process": .integer(Int(stack.worker.processID)),
      "redis_port": .integer(ports.redis), "kafka_port": .integer(ports.kafka),
      "apns_port": .integer(ports.apple), "fcm_port": .integer(ports.android),
      "webpush_port": .integer(ports.browsers),
    ]
  }

  /// The link has the key in it. A browser does not send this part of an address to a server.
  static func dashboard(_ stack: DevelopmentStack) -> String {
    """
    Dashboard: \(stack.url)/#key=\(stack.key)
    (or \(stack.url) and the key \(stack.key))
    """
  }

  static func undone(_ undo: DevelopmentDirectory.Undo) -> String {
    let (state, kept): (String, String?)
    switch undo {
    case .nothing: return "Nothing to undo: the text is as it comes with Fanfare."
    case .asAtStart(let file): (state, kept) = ("as it was when this run began", file)
    case .asShipped(let file): (state, kept) = ("as it comes with Fanfare", file)
    }
    guard let kept else { return "Undone: the text is \(state)." }
    return """
      Undone: the text is \(state). What it was until now is in
        \(kept)
      """
  }

  /// Within the directory that was named above.
  private static func relative(_ path: String, _ stack: DevelopmentStack) -> String {
    let start = stack.directory.directory.path + "/"
    return path.hasPrefix(start) ? String(path.dropFirst(start.count)) : path
  }
}
