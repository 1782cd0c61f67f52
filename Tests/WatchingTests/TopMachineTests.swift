import FanOuts
import Terminal
import Testing

@testable import Watching

/// What keys do.
@Suite struct TopMachineTests {
  private func machine(operates: Bool = false) -> TopMachine {
    var machine = TopMachine(operates: operates, at: 0)
    machine.show(evening)
    return machine
  }

  private func press(
    _ text: String, _ machine: inout TopMachine, at now: UInt64 = 0
  ) -> [TopMachine.Action] {
    text.map { machine.take($0 == "\n" ? .enter : .character($0), at: now) }
      .filter { $0 != .none }
  }

  private func selected(_ machine: TopMachine) -> String? {
    machine.selection.map { machine.fanOuts[$0].event }
  }

  @Test(arguments: [Key.character("q"), .control("c")]) func quits(key: Key) {
    var machine = machine()
    #expect(machine.take(key, at: 0) == .quit)
  }

  /// Whatever is being asked.
  @Test func controlKeysWorkEverywhere() {
    for keys in ["/", "?", "p", "pwhy\n"] {
      var machine = machine(operates: true)
      _ = press(keys, &machine)
      #expect(machine.take(.control("z"), at: 0) == .suspend, "\(keys)")
      #expect(machine.take(.control("c"), at: 0) == .quit, "\(keys)")
    }
  }

  @Test func theSelectionStaysWithItsFanOut() {
    var machine = machine()
    #expect(selected(machine) == "live-9d01")
    _ = press("j", &machine)
    #expect(selected(machine) == "live-8f2c")
    var later = evening
    later.fanOuts = FanOutRow.ordered(
      [row("urgent", ["expires_ms": "1"])] + evening.fanOuts, now: noon)
    machine.show(later)
    #expect(selected(machine) == "live-8f2c")
    _ = press("jjjj", &machine)
    #expect(selected(machine) == "live-0")
    _ = machine.take(.home, at: 0)
    #expect(selected(machine) == later.fanOuts[0].event)
  }

  @Test func aFilterIsTypedAndDropped() {
    var machine = machine()
    #expect(press("/AIKq", &machine) == [])
    #expect(machine.fanOuts.isEmpty)
    _ = machine.take(.backspace, at: 0)
    #expect(machine.fanOuts.map(\.event) == ["live-8f2c"])
    _ = machine.take(.enter, at: 0)
    #expect(machine.mode == .watching)
    #expect(machine.filter == "AIK")
    _ = machine.take(.escape, at: 0)
    #expect(machine.fanOuts.count == 3)
  }

  @Test func nothingActsBeforeItIsAskedTo() {
    var machine = machine()
    for key in ["p", "r", "c"] {
      #expect(press(key, &machine) == [])
      #expect(machine.mode == .watching)
      #expect(machine.message == "read-only: press o first")
    }
  }

  @Test func aPauseWantsAReasonAndAnAnswer() {
    var machine = machine()
    #expect(press("ojp", &machine) == [])
    #expect(press("\n", &machine) == [])
    #expect(machine.message.contains("a reason is wanted"))
    #expect(press("  wrong title \n", &machine) == [])
    #expect(
      press("y", &machine) == [.give(.pause, event: "live-8f2c", reason: "wrong title")])
    #expect(machine.mode == .watching)
  }

  @Test(arguments: ["n", "Y", "\n"]) func anyOtherAnswerDoesNothing(answer: String) {
    var machine = machine(operates: true)
    #expect(press("jpwhy\n" + answer, &machine) == [])
    #expect(machine.mode == .watching)
    #expect(machine.message == "nothing was done")
  }

  @Test func aCancellationIsSpelledOut() {
    var machine = machine(operates: true)
    #expect(press("jcbad text\ny\n", &machine) == [])
    #expect(machine.message == "nothing was done")
    #expect(
      press("cbad text\nyes\n", &machine)
        == [.give(.cancel, event: "live-8f2c", reason: "bad text")])
  }

  @Test func aResumeWantsAnAnswer() {
    var machine = machine(operates: true)
    #expect(press("ry", &machine) == [.give(.resume, event: "live-9d01", reason: "")])
  }

  /// The question is about the fan-out that was selected when it was asked.
  @Test func anOrderIsGivenToWhomItWasAskedAbout() {
    var machine = machine(operates: true)
    _ = press("jpwhy\n", &machine)
    var later = evening
    later.fanOuts.removeAll { $0.event == "live-8f2c" }
    machine.show(later)
    #expect(press("y", &machine) == [.give(.pause, event: "live-8f2c", reason: "why")])
  }

  @Test func nothingIsStoppedThatHasEnded() {
    var machine = machine(operates: true)
    #expect(press("jjpwhy", &machine) == [])
    #expect(machine.mode == .watching)
  }

  @Test func operatingEndsByItself() {
    let end = TopMachine.operateNanoseconds
    var machine = machine(operates: true)
    #expect(machine.operates(at: end - 1))
    #expect(!machine.operates(at: end))
    _ = press("jpwhy\n", &machine, at: end - 1)
    #expect(press("y", &machine, at: end) == [])
    #expect(machine.message == "read-only again: nothing was done")
    _ = press("o", &machine, at: end)
    #expect(machine.operates(at: end))
    _ = press("o", &machine, at: end)
    #expect(!machine.operates(at: end))
  }

  @Test func sectionsTakeTurns() {
    var machine = machine()
    let order = (0..<4).map { _ in
      defer { _ = machine.take(.tab, at: 0) }
      return machine.section
    }
    #expect(order == [.fanOuts, .workers, .obstacles, .fanOuts])
  }
}
