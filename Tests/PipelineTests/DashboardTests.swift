import JSON
import Testing

/// What both of docker/grafana have to be for Grafana to take them as they are.
@Suite struct DashboardTests {
  @Test(arguments: Dashboard.names) func itIsKnownByOneName(name: String) throws {
    let board = try Dashboard(name)
    #expect(board.json["uid"]?.string == name)
    #expect(board.json["title"]?.string?.hasPrefix("Fanfare: ") == true)
    #expect(board.json["editable"]?.bool == true)
    #expect((board.json["schemaVersion"]?.integer ?? 0) >= 38)
    // What an export adds, and the next import would take for its own.
    for counter in ["id", "version", "iteration", "__inputs"] {
      #expect(board.json[counter] == nil, "\(counter)")
    }
  }

  /// Each has a link to all with this tag.
  @Test(arguments: Dashboard.names) func itLeadsToTheOther(name: String) throws {
    let board = try Dashboard(name)
    #expect(board.json["tags"]?.array?.contains("fanfare") == true)
    let link = try #require(board.json["links"]?.array?.first?.object)
    #expect(link["type"]?.string == "dashboards" && link["tags"] == ["fanfare"])
  }

  @Test(arguments: Dashboard.names) func panelsHavePlacesOfTheirOwn(name: String) throws {
    let board = try Dashboard(name)
    let ids = board.panels.compactMap { $0.json["id"]?.integer }
    #expect(ids.count == board.panels.count && Set(ids).count == ids.count)
    var taken: Set<[Int64]> = []
    for panel in board.panels {
      let squares = panel.squares
      #expect(!squares.isEmpty && squares.allSatisfy { 0..<24 ~= $0[0] }, "\(panel.title)")
      #expect(taken.isDisjoint(with: squares), "\(panel.title)")
      taken.formUnion(squares)
    }
  }

  @Test(arguments: Dashboard.names) func everyPanelSaysWhatItShows(name: String) throws {
    let board = try Dashboard(name)
    #expect(!board.shown.isEmpty)
    #expect(Set(board.shown.map(\.title)).count == board.shown.count)
    for panel in board.shown {
      #expect(panel.description.hasSuffix("."), "\(panel.title)")
      let names = panel.targets.compactMap { $0["refId"]?.string }
      #expect(!names.isEmpty && Set(names).count == panel.targets.count, "\(panel.title)")
    }
  }

  /// Whoever imports it says which data source it reads.
  @Test(arguments: [("fanfare-fleet", "prometheus"), ("fanfare-fan-outs", "redis-datasource")])
  func theDataSourceIsChosen(name: String, type: String) throws {
    let board = try Dashboard(name)
    let variable = try #require(board.variables.first)
    #expect(variable["type"]?.string == "datasource" && variable["query"]?.string == type)
    #expect(variable["name"]?.string == "datasource")
    let sources = JSONValue.object(board.json).values(of: "datasource")
    #expect(sources.count > board.shown.count)
    for source in sources {
      #expect(source == ["type": .string(type), "uid": "${datasource}"])
    }
  }
}
