import Checkout
import JSON
import Keyspace
import Testing

@testable import Record

/// docker/grafana/fanfare-fan-outs.json asks Redis for what workers write there.
@Suite struct FanOutsDashboardTests {
  private let board: Dashboard
  private let page: String
  private let keyspace = Keyspace()

  init() throws {
    board = try Dashboard("fanfare-fan-outs")
    page = try Checkout.text("docs/redis.md")
  }

  private var targets: [JSONObject] { board.shown.flatMap(\.targets) }

  /// The day in which the time range ends, as Grafana puts it in.
  private var day: String {
    keyspace.statsDay(milliseconds: 0).replacing("19700101", with: "${__to:date:YYYYMMDD}")
  }

  /// Names of fields by the hash that has them.
  private func hashes() throws -> [String: Set<String>] {
    let section = try page.part(behind: "## What became of an event\n", before: "\n## ")
    let words = section.matches(of: /`([a-z_]+)`/).map { String($0.output.1) }
    let fields = Set(FanOutCounter.allCases.map(\.rawValue) + words)
    return [keyspace.event(id: "$event"): fields, keyspace.statsTotal: fields, day: fields]
  }

  /// The same of streams.
  private var streams: [String: Set<String>] {
    let summary = ["event", "streamer", "template", "state", "rejected"]
    return [
      keyspace.statsEvents: Set(summary + FanOutCounter.summarized.map(\.rawValue)),
      keyspace.statsSeries: Set(RecordStage.seriesFields),
      keyspace.statsFanOuts: ["event"],
    ].mapValues { $0.union(["$time", "$streamId"]) }
  }

  /// The fields that a panel names: in what it shows, and in what it makes of the answer.
  private func names(_ panel: Dashboard.Panel) -> [String] {
    let json = JSONValue.object(panel.json)
    let shown = json.values(of: "reduceOptions").flatMap { $0.values(of: "fields") }
      .compactMap(\.string).flatMap { $0.matches(of: /[a-z_]+/).map { String($0.output) } }
    let named = ["left", "right", "field"].flatMap { json.values(of: $0) }.compactMap(\.string)
    let overridden = json.values(of: "matcher").flatMap { $0.values(of: "options") }
      .compactMap(\.string)
    let kept = json.values(of: "names").compactMap(\.array).joined().compactMap(\.string)
    let ordered = ["excludeByName", "indexByName"].flatMap { json.values(of: $0) }
      .compactMap(\.object).flatMap { $0.members.map(\.name) }
    return shown + named + overridden + kept + ordered
  }

  @Test func commandsAreAllowedToADashboard() throws {
    let rules = try page.part(behind: "ACL SETUSER dashboard ", before: "redis-cli")
    let allowed = Set(rules.matches(of: /\+([a-z]+)/).map { String($0.output.1) })
    #expect(rules.contains("'%R~ff:*' -@all"))
    #expect(!targets.isEmpty)
    for target in targets {
      let command = target["command"]?.string ?? ""
      #expect(target["type"]?.string == "command" && target["query"]?.string == "")
      #expect(allowed.contains(command), "\(command)")
    }
  }

  @Test func keysAndFieldsAreWritten() throws {
    let hashes = try hashes()
    for panel in board.shown {
      let target = try #require(panel.targets.first)
      let key = target["keyName"]?.string ?? ""
      guard let written = (target["command"] == "hgetall" ? hashes : streams)[key] else {
        Issue.record("\(panel.title): nobody writes \(key)")
        continue
      }
      let made = JSONValue.object(panel.json).values(of: "alias").compactMap(\.string)
      let names = names(panel)
      #expect(panel.targets.count == 1 && !names.isEmpty, "\(panel.title)")
      for name in names {
        #expect(written.union(made).contains(name), "\(panel.title): \(key) has no \(name)")
      }
    }
    let keys = Set(targets.compactMap { $0["keyName"]?.string })
    #expect(keys == Set(hashes.keys).union(streams.keys))
  }

  /// Streams are long: no panel takes more than a day of points.
  @Test func streamsAreReadInPart() {
    let streams = targets.filter { $0["command"]?.string == "xrevrange" }
    #expect(!streams.isEmpty)
    for target in streams {
      #expect(1...Int64(86_400 / Keyspace.seriesIntervalSeconds) ~= target["count"]?.integer ?? 0)
    }
  }

  @Test func theEventIsTypedIn() {
    let event = board.variables.first { $0["name"]?.string == "event" }
    #expect(event?["type"]?.string == "textbox")
  }
}
