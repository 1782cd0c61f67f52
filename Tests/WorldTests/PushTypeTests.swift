import APNsSimulator
import Model
import Render
import Testing
import World

/// Each push type with a topic of its own goes to the tokens that are registered for it.
@Suite struct PushTypeTests {
  private static let topics: [(template: String, type: PushType)] = [
    ("alert", .alert), ("voip", .voip), ("live", .liveactivity), ("refresh", .background),
  ]

  private static func template(_ name: String, _ type: PushType) -> TemplateSource {
    let place = TemplateSource.Place(line: 1, column: 1)
    func map(_ members: [(String, TemplateSource.Value)]) -> TemplateSource.Node {
      TemplateSource.Node(
        .map(
          members.map {
            TemplateSource.Entry(
              key: $0.0, place: place, value: TemplateSource.Node($0.1, place))
          }), place)
    }
    let aps: [(String, TemplateSource.Value)] =
      switch type {
      case .background: [("content-available", .integer(1))]
      case .liveactivity:
        [
          ("event", .string("update")), ("timestamp", .integer(1_795_262_400)),
          ("content-state", .map([])),
        ]
      default: [("alert", .string("hello"))]
      }
    let payload = map([("aps", map(aps).value)])
    return TemplateSource(
      name: name, file: "\(name).yaml",
      root: map([("push_type", .string(type.rawValue)), ("payload", payload.value)]))
  }

  /// A device has a token for each topic; the simulator, like Apple, takes each for its own alone.
  @Test func eachTokenGetsThePushesOfItsTopic() throws {
    var script = SimulatorScript()
    var devices: [(token: String, topic: String)] = []
    for (index, type) in [PushType.alert, .voip, .liveactivity, .widgets].enumerated() {
      let device = (token: paddedHex(index + 1), topic: WorldHarness.app + type.topicSuffix)
      devices.append(device)
      script.rules.append(.init(tokens: [device.token], topic: device.topic))
    }
    try WorldHarness.live(script: script) { harness in
      harness.follow("s1", device: devices)
      let templates = try Self.topics.map { try Template.compile(Self.template($0, $1)) }
      let worker = try harness.startWorker { $0.templates = templates }
      for (name, _) in Self.topics {
        harness.emit(name, template: name)
        let status = try harness.finished(name)
        #expect(status.isBalanced && status.pushes == 1 && status.accepted == 1, "\(name)")
      }
      #expect(harness.stop(worker))
      let counts = harness.counts(of: devices.map(\.token))
      // The ordinary token gets alerts and background pushes; nobody asks for widgets.
      #expect(counts.map(\.requests) == [2, 1, 1, 0])
    }
  }

  /// An update token is of one activity: bound to an id of its own, it gets that activity's updates
  /// alone, though a token that starts activities has the same topic.
  @Test func anActivityGetsItsOwnUpdates() throws {
    try WorldHarness.live { harness in
      let topic = WorldHarness.app + PushType.liveactivity.topicSuffix
      let start = paddedHex(1)
      let updates = [paddedHex(2), paddedHex(3)]
      harness.follow("s1", device: [(token: start, topic: topic)])
      for (index, token) in updates.enumerated() {
        harness.follow("activity/b-\(index)", device: [(token: token, topic: topic)])
      }
      let worker = try harness.startWorker()
      harness.emit("start", template: "live-activity-start")
      harness.emit("update", streamer: "activity/b-0", template: "live-activity-update")
      harness.emit("end", streamer: "activity/b-0", template: "live-activity-end")
      for event in ["start", "update", "end"] {
        let status = try harness.finished(event)
        #expect(status.accepted == 1 && status.pushes == 1, "\(event)")
      }
      #expect(harness.stop(worker))
      let counts = harness.counts(of: [start] + updates)
      #expect(counts.map(\.accepted) == [1, 2, 0])
    }
  }
}
