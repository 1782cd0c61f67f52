import Testing

@testable import Redis

@Suite struct SessionTests {
  typealias Session = RedisSession

  static let broken = RedisError(.unavailable, "no connection")
  static let events: [Session.Event] = [
    .start, .opened, .handshakeAccepted, .foundReplica, .lost(broken), .timerFired, .close,
  ]
  static let states: [Session.State] = [
    .idle, .connecting, .handshaking, .ready, .backingOff, .closed,
  ]

  static let options = RedisOptions(
    host: "h", port: 1, connectTimeout: .seconds(3), reconnectMinimum: .milliseconds(100),
    reconnectMaximum: .seconds(1))

  /// A session that has come to `state` on the shortest way, at time 0.
  func session(in state: Session.State) -> Session {
    var session = Session(Self.options)
    let way: [Session.Event] =
      switch state {
      case .idle: []
      case .connecting: [.start]
      case .handshaking: [.start, .opened]
      case .ready: [.start, .opened, .handshakeAccepted]
      case .backingOff: [.start, .lost(Self.broken)]
      case .closed: [.close]
      }
    for event in way { _ = session.handle(event, now: 0, random: 1) }
    #expect(session.state == state)
    return session
  }

  /// What each state makes of each event; whatever is not named here changes nothing.
  func expected(
    _ state: Session.State, _ event: Session.Event
  ) -> (next: Session.State, actions: [Session.Action]) {
    let report = Session.Action.report("Redis h:1: no connection; trying again")
    let lost: [Session.Action] = [
      .cancelTimer, .disconnect, report, .startTimer(.milliseconds(100)),
    ]
    switch (state, event) {
    case (.closed, _): return (.closed, [])
    case (_, .close):
      let error = RedisError(.closed, "Redis h:1: the client is closed")
      return (.closed, [.cancelTimer, .disconnect, .failAll(error)])
    case (.idle, .start), (.backingOff, .timerFired): return (.connecting, [.connect])
    case (.connecting, .opened):
      return (.handshaking, [.sendHandshake, .startTimer(.seconds(3))])
    case (.connecting, .lost), (.handshaking, .lost): return (.backingOff, lost)
    case (.handshaking, .foundReplica): return (.connecting, [.cancelTimer, .disconnect, .connect])
    case (.handshaking, .handshakeAccepted): return (.ready, [.cancelTimer, .sendWaiting])
    case (.handshaking, .timerFired):
      let silent = "Redis h:1: Redis does not answer the handshake; trying again"
      return (
        .backingOff,
        [.cancelTimer, .disconnect, .report(silent), .startTimer(.milliseconds(100))]
      )
    case (.ready, .lost):
      let error = RedisError(
        .connectionLost, "the connection to Redis h:1 broke before the answer",
        cause: "no connection")
      return (
        .backingOff,
        [.cancelTimer, .disconnect, .failSent(error), report, .startTimer(.milliseconds(100))]
      )
    default: return (state, [])
    }
  }

  @Test(arguments: states, events)
  func everyEventInEveryState(state: Session.State, event: Session.Event) {
    var session = session(in: state)
    let (next, actions) = expected(state, event)
    let performed = session.handle(event, now: 0, random: 1)
    #expect(performed == actions)
    #expect(session.state == next)
  }

  func delay(_ actions: [Session.Action]) -> Duration? {
    for case .startTimer(let delay) in actions { return delay }
    return nil
  }

  @Test func backOffDoublesToItsMaximum() {
    var session = session(in: .idle)
    _ = session.handle(.start, now: 0, random: 0)
    var delays: [Duration?] = []
    for _ in 0..<6 {
      delays.append(delay(session.handle(.lost(Self.broken), now: 0, random: 1)))
      _ = session.handle(.timerFired, now: 0, random: 0)
    }
    #expect(delays == [100, 200, 400, 800, 1_000, 1_000].map { Duration.milliseconds($0) })
  }

  @Test(arguments: [(0.0, 50), (0.5, 75), (1.0, 100), (7.0, 100), (-1.0, 50)])
  func jitterTakesUpToHalf(random: Double, milliseconds: Int) {
    var session = session(in: .connecting)
    let actions = session.handle(.lost(Self.broken), now: 0, random: random)
    #expect(delay(actions) == .milliseconds(milliseconds))
  }

  @Test func backOffBeginsAgainAfterAConnectionThatHeld() {
    for (seconds, milliseconds) in [(0, 400), (1, 100)] as [(UInt64, Int)] {
      var session = session(in: .connecting)
      for _ in 0..<2 {
        _ = session.handle(.lost(Self.broken), now: 0, random: 1)
        _ = session.handle(.timerFired, now: 0, random: 1)
      }
      _ = session.handle(.opened, now: 0, random: 1)
      let ready = session.handle(.handshakeAccepted, now: 0, random: 1)
      #expect(ready.contains(.report("Redis h:1: connected again")))
      let lost = session.handle(.lost(Self.broken), now: seconds * 1_000_000_000, random: 1)
      #expect(delay(lost) == .milliseconds(milliseconds))
    }
  }

  @Test(arguments: [RedisError.Code.authentication, .refused])
  func whatAnOperatorMustMendIsTriedSlowly(code: RedisError.Code) {
    var session = session(in: .handshaking)
    let actions = session.handle(.lost(RedisError(code, "no")), now: 0, random: 1)
    #expect(delay(actions) == .seconds(1))
    #expect(session.unavailable(after: .seconds(2)).code == code)
  }

  @Test func theErrorOfAWaitingPipelineSaysWhy() {
    var session = session(in: .handshaking)
    #expect(session.unavailable(after: .seconds(2)).code == .unavailable)
    _ = session.handle(.lost(RedisError(.loading, "loading")), now: 0, random: 1)
    let error = session.unavailable(after: .seconds(2))
    #expect(error.code == .loading && error.cause == "loading")
  }

  @Test func withoutAPauseThereIsStillOne() {
    var session = RedisSession(
      RedisOptions(reconnectMinimum: .zero, reconnectMaximum: .zero))
    _ = session.handle(.start, now: 0, random: 0)
    let actions = session.handle(.lost(Self.broken), now: 0, random: 1)
    #expect(delay(actions) == .milliseconds(1))
  }
}

@Suite struct HandshakeTests {
  @Test func saysWhatIsConfigured() {
    func commands(_ options: RedisOptions) -> [[String]] {
      RedisHandshake(options).commands.map(\.arguments)
    }
    #expect(commands(RedisOptions()) == [["PING"], ["ROLE"]])
    #expect(commands(RedisOptions(username: "u")) == [["PING"], ["ROLE"]])
    #expect(
      commands(RedisOptions(password: "p", database: 3)) == [
        ["AUTH", "p"], ["SELECT", "3"], ["PING"], ["ROLE"],
      ])
    #expect(
      commands(RedisOptions(username: "u", password: "p", clientName: "lane-0")) == [
        ["AUTH", "u", "p"], ["CLIENT", "SETNAME", "lane-0"], ["PING"], ["ROLE"],
      ])
  }

  static let table: [(RedisHandshake.Step, String?, RedisError.Code?)] = [
    (.ping, nil, nil), (.authenticate, nil, nil),
    (.authenticate, "WRONGPASS invalid", .authentication),
    (.authenticate, "ERR AUTH <password> called without any password configured", .authentication),
    (.authenticate, "LOADING Redis is loading", .loading),
    (.selectDatabase, "ERR DB index is out of range", .refused),
    (.selectDatabase, "NOPERM no", .authentication),
    (.selectDatabase, "NOAUTH Authentication required.", .authentication),
    (.setName, "ERR Client names cannot contain spaces", nil), (.setName, "NOPERM no", nil),
    (.ping, "NOPERM this user", nil), (.ping, "NOAUTH Authentication required.", .authentication),
    (.ping, "LOADING Redis", .loading), (.ping, "MASTERDOWN Link", .loading),
    (.ping, "BUSY Redis is busy", .loading), (.ping, "CLUSTERDOWN", .loading),
    (.role, "NOPERM this user", nil), (.role, "BUSY Redis is busy", .loading),
  ]

  @Test(arguments: table)
  func answers(step: RedisHandshake.Step, answer: String?, code: RedisError.Code?) {
    let error = RedisHandshake.verdict([(step, answer.map { RedisErrorReply($0) }), (.ping, nil)])
    #expect(error?.code == code)
  }

  @Test func theServersWordsAreNotRepeated() {
    let answer = RedisErrorReply("ERR unknown command 'AUTH', with args beginning with: 'canary'")
    let error = RedisHandshake.verdict([(.authenticate, answer)])
    #expect(error.map { !"\($0)".contains("canary") } == true)
  }
}
