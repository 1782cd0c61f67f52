import FanOuts
import Terminal
import Text

/// The state of a live view and what keys do to it: a pure machine. Time is passed in.
package struct TopMachine: Sendable {
  package enum Section: Sendable, CaseIterable { case fanOuts, workers, obstacles }

  package enum Action: Sendable, Equatable {
    case none, quit, suspend
    /// To be given to a fan-out; `report` takes its result.
    case give(FanOutControl.Order, event: String, reason: String)
  }

  enum Mode: Sendable, Equatable {
    case watching, help
    case filtering
    /// For the reason of an order.
    case reason(FanOutControl.Order, event: String, text: String)
    /// For the last word. A cancellation wants it spelled out.
    case confirming(FanOutControl.Order, event: String, reason: String, text: String)
  }

  /// Data older than this is marked: three reads were missed.
  static let staleAfterMilliseconds: Int64 = 3_500
  /// Orders are given for so long after `o`; then the view only reads again.
  static let operateNanoseconds: UInt64 = 600_000_000_000
  static let maximumReasonCharacters = 200

  private(set) var snapshot: TopSnapshot?
  /// Why there is no newer one.
  private(set) var trouble: String?
  private(set) var section = Section.fanOuts
  private(set) var mode = Mode.watching
  /// In events and streamers.
  private(set) var filter = ""
  /// The result of the last key or order, until the next key.
  private(set) var message = ""
  private(set) var operatesUntil: UInt64?
  private var selected: ExactText?
  /// The first line that is shown of the sections that are no list of fan-outs.
  private(set) var offset = 0

  package init(operates: Bool, at now: UInt64) {
    if operates { operatesUntil = now &+ Self.operateNanoseconds }
  }

  // MARK: data

  package mutating func show(_ snapshot: TopSnapshot) {
    self.snapshot = snapshot
    trouble = nil
  }

  package mutating func fail(_ trouble: String) { self.trouble = trouble }

  /// Takes the result of an order.
  package mutating func report(_ message: String) { self.message = message }

  /// Those that the filter leaves, in their order.
  var fanOuts: [FanOutRow] {
    let all = snapshot?.fanOuts ?? []
    let wanted = filter.lowercased()
    return wanted.isEmpty
      ? all
      : all.filter {
        $0.event.lowercased().contains(wanted) || $0.streamer.lowercased().contains(wanted)
      }
  }

  /// The selected fan-out is the same one wherever it moves to.
  var selection: Int? {
    let rows = fanOuts
    guard !rows.isEmpty else { return nil }
    return selected.flatMap { name in rows.firstIndex { $0.event.isExactly(name.text) } } ?? 0
  }

  func operates(at now: UInt64) -> Bool { operatesUntil.map { now < $0 } ?? false }

  // MARK: keys

  /// - Parameter now: monotonic nanoseconds.
  package mutating func take(_ key: Key, at now: UInt64) -> Action {
    message = ""
    if key == .control("c") { return .quit }
    if key == .control("z") { return .suspend }
    switch mode {
    case .watching: return watch(key, at: now)
    case .help: mode = .watching
    case .filtering: type(key)
    case .reason(let order, let event, let text): ask(key, order, event, text)
    case .confirming(let order, let event, let reason, let text):
      return confirm(key, order, event, reason, text, at: now)
    }
    return .none
  }

  private mutating func watch(_ key: Key, at now: UInt64) -> Action {
    switch key {
    case .character("q"): return .quit
    case .up, .character("k"): move(by: -1)
    case .down, .character("j"): move(by: 1)
    case .pageUp: move(by: -10)
    case .pageDown: move(by: 10)
    case .home: move(by: -.max / 2)
    case .end: move(by: .max / 2)
    case .tab:
      let all = Section.allCases
      section = all[((all.firstIndex(of: section) ?? 0) + 1) % all.count]
      offset = 0
    case .character("/"): mode = .filtering
    case .escape: filter = ""
    case .character("?"): mode = .help
    case .character("o"):
      operatesUntil = operates(at: now) ? nil : now &+ Self.operateNanoseconds
      message =
        operatesUntil == nil
        ? "read-only again" : "p, r and c act on the selected fan-out for 10 minutes"
    case .character("p"): begin(.pause, at: now)
    case .character("r"): begin(.resume, at: now)
    case .character("c"): begin(.cancel, at: now)
    default: break
    }
    return .none
  }

  private mutating func move(by steps: Int) {
    guard section == .fanOuts else {
      offset = max(0, offset + max(-1000, min(1000, steps)))
      return
    }
    guard let current = selection else { return }
    let rows = fanOuts
    let limited = max(-rows.count, min(rows.count, steps))
    selected = ExactText(rows[min(max(current + limited, 0), rows.count - 1)].event)
  }

  private mutating func type(_ key: Key) {
    switch key {
    case .character(let character): filter.append(character)
    case .backspace: if !filter.isEmpty { filter.removeLast() }
    case .escape:
      filter = ""
      mode = .watching
    case .enter: mode = .watching
    default: break
    }
  }

  // MARK: orders

  private mutating func begin(_ order: FanOutControl.Order, at now: UInt64) {
    guard operates(at: now) else {
      message = "read-only: press o first"
      return
    }
    guard section == .fanOuts, let selection else {
      message = "no fan-out is selected"
      return
    }
    let row = fanOuts[selection]
    if row.isFinished, row.state != .incomplete {
      message = "\(row.event) is \(row.state.rawValue): there is nothing left to stop"
      return
    }
    selected = ExactText(row.event)
    mode =
      order == .resume
      ? .confirming(order, event: row.event, reason: "", text: "")
      : .reason(order, event: row.event, text: "")
  }

  private mutating func ask(
    _ key: Key, _ order: FanOutControl.Order, _ event: String, _ text: String
  ) {
    guard let text = edited(text, by: key) else { return }
    mode = .reason(order, event: event, text: text)
    guard key == .enter else { return }
    let reason = text.trimmingSpaces
    if reason.isEmpty {
      message = "a reason is wanted: it is shown with the fan-out"
    } else {
      mode = .confirming(order, event: event, reason: reason, text: "")
    }
  }

  private mutating func confirm(
    _ key: Key, _ order: FanOutControl.Order, _ event: String, _ reason: String, _ text: String,
    at now: UInt64
  ) -> Action {
    guard order == .cancel else {
      mode = .watching
      guard key == .character("y") else {
        message = "nothing was done"
        return .none
      }
      return given(order, event, reason, at: now)
    }
    guard let text = edited(text, by: key) else { return .none }
    guard key == .enter else {
      mode = .confirming(order, event: event, reason: reason, text: text)
      return .none
    }
    mode = .watching
    guard text.isExactly("yes") else {
      message = "nothing was done"
      return .none
    }
    return given(order, event, reason, at: now)
  }

  private mutating func given(
    _ order: FanOutControl.Order, _ event: String, _ reason: String, at now: UInt64
  ) -> Action {
    guard operates(at: now) else {
      message = "read-only again: nothing was done"
      return .none
    }
    return .give(order, event: event, reason: reason)
  }

  /// Nil when the key ends the question.
  private mutating func edited(_ text: String, by key: Key) -> String? {
    switch key {
    case .character(let character):
      return text.count < Self.maximumReasonCharacters ? text + String(character) : text
    case .backspace: return String(text.dropLast())
    case .escape:
      mode = .watching
      message = "nothing was done"
      return nil
    default: return text
    }
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    let start = drop { $0 == " " }
    return String(start.reversed().drop { $0 == " " }.reversed())
  }
}

extension FanOutControl.Order {
  var word: String {
    switch self {
    case .pause: "pause"
    case .resume: "resume"
    case .cancel: "cancel"
    }
  }
}
