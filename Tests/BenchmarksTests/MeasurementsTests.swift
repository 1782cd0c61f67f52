import Benchmarks
import Testing

@Suite struct MeasurementsTests {
  @Test("The median is the middle value, or the mean of the two in the middle")
  func median() throws {
    #expect(try #require(Measurements([9, 1, 4])).median == 4)
    #expect(try #require(Measurements([9, 1, 4, 6])).median == 5)
    #expect(try #require(Measurements([7])).median == 7)
  }

  @Test("The spread is from the least to the greatest, in any order of arrival")
  func spread() throws {
    let measurements = try #require(Measurements([3, 8, 5]))
    #expect(measurements.minimum == 3)
    #expect(measurements.maximum == 8)
    #expect(measurements.sorted == [3, 5, 8])
  }

  @Test(
    "A percentile is one of the values: the nearest rank",
    arguments: [
      (0.0, 1.0), (1, 1), (50, 50), (99, 99), (99.1, 100), (100, 100), (-5, 1), (200, 100),
    ])
  func percentile(percent: Double, value: Double) throws {
    let measurements = try #require(Measurements((1...100).shuffled().map(Double.init)))
    #expect(measurements.percentile(percent) == value)
  }

  @Test("Of few values the 99th percentile is the greatest")
  func fewValues() throws {
    #expect(try #require(Measurements([2, 1, 3])).percentile(99) == 3)
    #expect(try #require(Measurements([2])).percentile(50) == 2)
  }

  @Test("Nothing measured, or something that is no number, is no measurement")
  func refused() {
    #expect(Measurements([]) == nil)
    #expect(Measurements([1, .nan]) == nil)
    #expect(Measurements([.infinity]) == nil)
  }

  @Test("A figure that two sections measured has the runs of both, and its limit")
  func merged() throws {
    let first = Figure("h2load_cpu_us", try #require(Measurements([4, 1])), limit: 3)
    let second = Figure("h2load_cpu_us", try #require(Measurements([9, 2, 5])))
    let both = first.merged(with: second)
    #expect(both.measurements.sorted == [1, 2, 4, 5, 9])
    #expect(both.limit == 3)
    #expect(both.value == 4)
  }

  @Test("A figure meets its limit when the median does, whatever the worst run says")
  func limits() throws {
    let measurements = try #require(Measurements([1.1, 1.3, 1.9]))
    #expect(Figure("deliver_ratio", measurements, limit: 1.3).meetsLimit)
    #expect(!Figure("deliver_ratio", measurements, limit: 1.29).meetsLimit)
    #expect(Figure("scale_four_ratio", measurements, least: 1.3).meetsLimit)
    #expect(!Figure("scale_four_ratio", measurements, least: 1.31).meetsLimit)
    #expect(Figure("deliver_ratio", measurements).meetsLimit)
  }

  @Test("A request costs what a busy run costs more than an idle one")
  func marginalCost() {
    var cost = MarginalCost(requests: 100)
    cost.add(busy: 350, idle: 50)
    #expect(cost.perRequest == [3])
    cost.add(busy: 450, idle: 50)
    #expect(cost.perRequest == [3, 4])
  }

  @Test("Idle runs that were disturbed make no busy run look cheap")
  func disturbedIdleRuns() {
    var cost = MarginalCost(requests: 100)
    cost.add(busy: 350, idle: 300)
    cost.add(busy: 350, idle: 150)
    cost.add(busy: 350, idle: 50)
    #expect(cost.perRequest == [3, 3, 3])
    #expect(MarginalCost(requests: 100).perRequest == [])
  }
}
