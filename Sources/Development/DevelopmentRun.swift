import EventLoop
import Glibc
import LocalStack
import Processes
import Record
import Terminal
import Text

/// A development stack from its start to its end, and the person in front of it. Confined to the
/// loop of its processes.
package final class DevelopmentRun {
  package struct Options: Sendable {
    package var ports: DevelopmentPorts
    /// Of the worker and the API, `key=value`.
    package var settings: [String]
    /// Send the example event once, as soon as all is ready.
    package var sendsExample: Bool
    package var asJSON: Bool
    /// Ms since 1970.
    package var now: @Sendable () -> Int64
    /// True from the moment on that the run is to end.
    package var isInterrupted: @Sendable () -> Bool

    package init(
      ports: DevelopmentPorts, settings: [String], sendsExample: Bool, asJSON: Bool,
      now: @escaping @Sendable () -> Int64, isInterrupted: @escaping @Sendable () -> Bool
    ) {
      self.ports = ports
      self.settings = settings
      self.sendsExample = sendsExample
      self.asJSON = asJSON
      self.now = now
      self.isInterrupted = isInterrupted
    }
  }

  /// Somebody who presses a key waits no longer than this.
  private static let turn: Duration = .milliseconds(50)
  /// Redis is looked at in each fifth turn.
  private static let turnsPerLook = 5
  /// Of the latest fan-outs, at a look.
  private static let shownFanOuts = 50

  private let options: Options
  private let directory: DevelopmentDirectory
  private let processes: ChildProcesses
  private let screen: DevelopmentScreen
  private let keyInput: KeyInput?
  /// For somebody who undoes what was changed since.
  private let templateAtStart: String?
  private var keys = DevelopmentKeys()
  /// Of what is shown; nil while the log is hidden.
  private var log: LogTail?
  private var lastExample: Int64 = 0

  /// - Parameter keyInput: nil where nobody presses keys.
  package init(
    _ options: Options, in directory: DevelopmentDirectory, _ processes: ChildProcesses,
    output: Console, keyInput: KeyInput?
  ) {
    self.options = options
    self.directory = directory
    self.processes = processes
    self.keyInput = keyInput
    templateAtStart = DevelopmentDirectory.templateText(directory.templateFile)
    screen = DevelopmentScreen(output, hasFooter: keyInput != nil)
  }

  /// Returns when a signal or a key has ended it. Throws when a process ends that it needs.
  package func run() async throws(LocalRunError) {
    let stack = try await DevelopmentStack.start(
      in: directory, options.ports, settings: options.settings, processes, now: options.now())
    let ended: Result<Void, LocalRunError>
    do throws(LocalRunError) {
      ended = .success(try await serve(stack))
    } catch {
      // A signal while something was waited for.
      ended = error.kind == .interrupted ? .success(()) : .failure(error)
    }
    screen.clear()
    await stack.stop()
    try ended.get()
  }

  private func serve(_ stack: DevelopmentStack) async throws(LocalRunError) {
    var ended = EndedFanOuts(before: try await recent(stack))
    var requests = try await stack.requests()
    if options.asJSON {
      screen.say(DevelopmentWords.ready(stack).serialized())
    } else {
      screen.say(DevelopmentWords.table(stack, hasKeys: keyInput != nil))
    }
    if options.sendsExample { try await sendExample(stack) }
    var templateLog = LogTail(stack.worker.logFile)
    var turn = 0
    while !options.isInterrupted() {
      try processes.checkpoint()
      for wish in keys.wishes(keyInput?.pressed() ?? []) {
        if wish == .stop { return }
        try await fulfil(wish, stack)
      }
      for line in log?.lines() ?? [] { screen.say(TextLayout.printable(line)) }
      tellTemplate(templateLog.lines())
      if turn % Self.turnsPerLook == 0 {
        for fanOut in ended.news(try await recent(stack)) {
          let now = try await stack.requests()
          let received = try await stack.received(since: requests, until: now)
          requests = now
          tell(FanOutLine(fanOut: fanOut, received: received))
        }
      }
      screen.showFooter(isLogShown: log != nil)
      turn += 1
      await processes.loop.wait(Self.turn)
    }
  }

  private func recent(_ stack: DevelopmentStack) async throws(LocalRunError) -> [KnownFanOut] {
    try await stack.stack.recentFanOuts(atMost: Self.shownFanOuts)
  }

  private func tell(_ line: FanOutLine) {
    if options.asJSON {
      screen.say(line.json.serialized())
    } else {
      for text in line.lines { screen.say(TextLayout.printable(text)) }
    }
  }

  private func tellTemplate(_ lines: [String]) {
    guard !options.asJSON else { return }
    for line in lines {
      guard let words = TemplateNews.words(of: line, hasKeys: keyInput != nil) else { continue }
      for text in words.split(separator: "\n") { screen.say(TextLayout.printable(String(text))) }
    }
  }

  private func fulfil(
    _ wish: DevelopmentKeys.Wish, _ stack: DevelopmentStack
  ) async throws(LocalRunError) {
    switch wish {
    case .sendExample:
      try await sendExample(stack)
      if !stack.isWorkerReady { screen.say("Sent. The worker begins in a few seconds.") }
    case .undoTemplate:
      screen.say(DevelopmentWords.undone(try directory.undoTemplate(to: templateAtStart)))
    case .showDashboard: screen.say(DevelopmentWords.dashboard(stack))
    case .toggleLog: log = log == nil ? LogTail(stack.worker.logFile) : nil
    case .stop: break
    }
  }

  /// Each has an id of its own, also two of the same millisecond.
  private func sendExample(_ stack: DevelopmentStack) async throws(LocalRunError) {
    lastExample = max(lastExample + 1, options.now())
    try await stack.sendExample(id: "dev-\(lastExample)")
  }
}

/// Lines, and below them a footer of keys that stays the last one. Confined to one loop.
final class DevelopmentScreen {
  private let console: Console
  /// The footer below the lines.
  private var footer = ""
  private let hasFooter: Bool

  init(_ console: Console, hasFooter: Bool) {
    self.console = console
    self.hasFooter = hasFooter
  }

  func say(_ text: String) {
    clear()
    console.line(text)
  }

  /// Draws it where it is not there.
  func showFooter(isLogShown: Bool) {
    let whole =
      "e send an event   u undo the text   b dashboard   "
      + "l \(isLogShown ? "hide" : "show") the worker's log   q stop"
    let text = whole.count < console.width ? whole : "e send  u undo  b link  l log  q stop"
    guard hasFooter, text != footer else { return }
    guard console.capabilities.redraws else {
      // Once, where nothing can be drawn over.
      if footer.isEmpty { console.line(text) }
      footer = text
      return
    }
    clear()
    // The last column stays free: writing into it makes some terminals wrap.
    let shown = TextLayout.truncated(text, to: max(1, console.width - 1), ellipsis: "")
    console.write("\r" + console.styled(shown, .dim) + "\u{1B}[K")
    footer = text
  }

  /// Takes the footer away.
  func clear() {
    guard console.capabilities.redraws, !footer.isEmpty else { return }
    console.write("\r\u{1B}[K")
    footer = ""
  }
}

/// The lines that are appended to a file from now on.
struct LogTail {
  private let path: String
  private var position: Int
  /// A line that has no end yet.
  private var rest: [UInt8] = []

  /// Of a look: what is longer comes with the next one.
  private static let maximumBytes = 64 << 10

  init(_ path: String) {
    self.path = path
    var status = stat()
    position = stat(path, &status) == 0 ? Int(status.st_size) : 0
  }

  /// Whole lines since the last look, without their ends.
  mutating func lines() -> [String] {
    guard let file = fopen(path, "r") else { return [] }
    defer { fclose(file) }
    fseek(file, position, SEEK_SET)
    var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
    let count = fread(&bytes, 1, bytes.count, file)
    position += count
    rest += bytes[..<count]
    guard let end = rest.lastIndex(of: 0x0A) else { return [] }
    let whole = rest[..<end]
    rest = Array(rest[(end + 1)...])
    return whole.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// Tells each fan-out that comes to its end once, whoever sent its event. A pure machine: what
/// Redis knows goes in.
struct EndedFanOuts {
  private var told: Set<ExactText> = []

  /// - Parameter before: what there was before anybody looked.
  init(before: [KnownFanOut]) { _ = news(before) }

  /// Those that have ended since the last look, the oldest first.
  /// - Parameter recent: the fan-outs that began last, the latest first.
  mutating func news(_ recent: [KnownFanOut]) -> [KnownFanOut] {
    let ended = recent.filter {
      switch $0.status.state {
      case .done, .expired, .incomplete: true
      case .scheduled, .running, .unknown: false
      }
    }
    let new = ended.filter { !told.contains(ExactText($0.event)) }
    // A fan-out that is not among the latest any more never comes back.
    told = Set(ended.map { ExactText($0.event) })
    return new.reversed()
  }
}
