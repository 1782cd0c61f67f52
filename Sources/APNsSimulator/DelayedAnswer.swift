struct DelayedAnswer {
  let connection: SimulatedConnection
  let slot: Int
  let stream: Int32
  let answer: SimulatedAnswer
}
