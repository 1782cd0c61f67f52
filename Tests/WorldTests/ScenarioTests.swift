import Testing
import World

/// What workers do in situations that last for minutes, each in a moment.
@Suite(.serialized) struct ScenarioTests {
  @Test(arguments: Scenario.all) func scenarioKeepsItsBounds(scenario: Scenario) throws {
    let broken = scenario.broken(by: try scenario.run())
    #expect(broken.isEmpty, "\(scenario.promise): \(broken.joined(separator: "; "))")
  }
}
