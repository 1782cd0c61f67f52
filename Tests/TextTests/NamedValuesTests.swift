import Testing
import Text

@Suite struct NamedValuesTests {
  private let values: NamedValues<Int> = ["z": 1, "a": 2, "z": 3]

  @Test func aNameSetTwiceKeepsItsPlaceAndTakesTheNewValue() {
    #expect(values.members.map(\.name) == ["z", "a"])
    #expect(values["z"] == 3)
    #expect(values["b"] == nil)
  }

  @Test func aNameSetToNothingGoes() {
    var values = values
    values["z"] = nil
    values["b"] = nil
    #expect(values == ["a": 2])
  }

  @Test(
    arguments: [
      ([:], ["b": 9], ["b": 9]), (["z": 1, "a": 2], [:], ["z": 1, "a": 2]),
      (["z": 1, "a": 2], ["b": 9, "z": 7], ["z": 7, "a": 2, "b": 9]),
    ] as [(NamedValues<Int>, NamedValues<Int>, NamedValues<Int>)])
  func theOthersOverrideAndFollow(
    these: NamedValues<Int>, others: NamedValues<Int>, merged: NamedValues<Int>
  ) {
    #expect(these.merging(others) == merged)
  }
}
