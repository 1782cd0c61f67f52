import Ingest
import JSON
import Kafka
import Model

/// 2026-11-21T08:00:00Z
let fuzzTime: Int64 = 1_795_248_000_000

private let options = IngestOptions()
private let ingest = IngestStage(options: options)

private func decoded(
  _ value: [UInt8], topic: String = options.eventsTopic, headers: [KafkaHeader] = []
) -> IngestResult {
  ingest.decode(
    KafkaMessage(
      topic: topic, partition: 0, offset: 0, key: nil, value: value, headers: headers),
    now: fuzzTime)
}

let ingestTargets = [
  FuzzTarget("event") { input in try check(decoded(Array(input))) },
  // Headers as lines `name: value`, an empty line, and the record.
  FuzzTarget("cloud-event") { input in
    let (lines, document) = input.headLinesAndRest
    let headers = lines.map { line -> KafkaHeader in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        return KafkaHeader(name: line.lossyText, value: nil)
      }
      let value = line[(colon + 1)...].drop { $0 == 0x20 }
      return KafkaHeader(name: line[piece: 0..<colon].lossyText, value: Array(value))
    }
    let result = decoded(Array(document), headers: headers)
    try check(result)
    guard case .event(let event) = result else { return }
    // What goes on to segments and dead letters needs no headers.
    guard case .event(let bare) = decoded(event.document) else {
      throw BrokenProperty(description: "the document that was taken out is no event: \(event)")
    }
    try holdEqual(bare, event, "the event in its headers and without them")
  },
  FuzzTarget("segment") { input in
    let result = decoded(Array(input), topic: options.segmentsTopic)
    switch result {
    case .segment(let segment): try check(segment)
    case .plan(let plan):
      let (key, value) = SegmentRecord.encode(plan)
      try holdEqual(SegmentRecord.event(ofKey: key), plan.event.id, "the key's event")
      try holdEqual(decoded(value, topic: options.segmentsTopic), result, "a plan, written again")
    case .malformed(let error): try check(error)
    case .event, .early, .ended: try hold(false, "a segment's record is no segment: \(result)")
    }
  },
  // As `cloud-event`: the headers of a record of stragglers, and the record.
  FuzzTarget("straggler") { input in
    let (lines, record) = input.headLinesAndRest
    let headers = lines.map { line -> KafkaHeader in
      let space = line.firstIndex(of: UInt8(ascii: ":")) ?? line.count
      let value = line[min(space + 1, line.count)...].drop { $0 == 0x20 }
      return KafkaHeader(name: line[piece: 0..<space].lossyText, value: Array(value))
    }
    try checkLabel(headers)
    switch decoded(Array(record), topic: options.stragglersTopic) {
    case .segment(let segment):
      try check(segment)
      guard let list = segment.stragglers else { return }
      try holdEqual(
        StragglerRecord.lists(list.pushes).flatMap { $0 }.count, list.pushes.count,
        "pushes, cut into lists")
    case .malformed(let error): try check(error)
    default: return
    }
  },
]

private func checkLabel(_ headers: [KafkaHeader]) throws {
  func label(_ headers: [KafkaHeader]) -> StragglerLabel {
    StragglerLabel(
      KafkaMessage(
        topic: options.stragglersTopic, partition: 0, offset: 0, key: nil, value: [],
        headers: headers))
  }
  let read = label(headers)
  try holdEqual(label(read.headers), read, "a label, written and read again")
}

private func check(_ result: IngestResult) throws {
  switch result {
  case .event(let event), .early(let event, _):
    try holdEqual(try ingest.event(document: event.document), event, "the event, read again")
    // A worker writes it as segments, whatever is in it.
    for count in [1, 64] {
      try check(Segment(event: event, slice: slice(of: event), count: slicesOf(event, count)))
    }
  case .malformed(let error): try check(error)
  case .ended(let end):
    try hold(!end.streamer.isEmpty && !end.stream.isEmpty, "the end of nothing: \(end)")
  case .segment, .plan: try hold(false, "an event's record is a segment: \(result)")
  }
}

private func slice(of event: Event) -> Segment.Slice {
  switch event.audience {
  case .followers: .shard(index: 0, generation: 3)
  case .users: .named
  default: .part(index: 0)
  }
}

private func slicesOf(_ event: Event, _ count: Int) -> Int {
  if case .users = event.audience { 1 } else { count }
}

private func check(_ segment: Segment) throws {
  let topic = segment.stragglers == nil ? options.segmentsTopic : options.stragglersTopic
  let (key, value) = SegmentRecord.encode(segment)
  try holdEqual(SegmentRecord.event(ofKey: key), segment.event.id, "the key's event")
  guard case .segment(let again) = decoded(value, topic: topic) else {
    throw BrokenProperty(
      description: "a segment that was written is not read: \(decoded(value, topic: topic))")
  }
  try holdEqual(again.id, segment.id, "the segment's id")
  try holdEqual(again.count, segment.count, "the segment's count")
  try holdEqual(again.slice, segment.slice, "the segment's slice")
  try holdEqual(
    withoutDocument(again.event), withoutDocument(segment.event), "the segment's event")
}

/// A segment carries its event's document without blanks between its members.
private func withoutDocument(_ event: Event) -> Event {
  Event(
    id: event.id, app: event.app, streamer: event.streamer, stream: event.stream,
    template: event.template, occurredAt: event.occurredAt, expiresAt: event.expiresAt,
    audience: event.audience, pushesPerSecond: event.pushesPerSecond, fields: event.fields,
    document: [])
}

/// Whoever wrote the record is told which part of it is wrong.
private func check(_ error: IngestError) throws {
  try hold(!error.reason.isEmpty, "refused without a reason: \(error.code)")
  try hold(error.reason.utf8.count <= 2048, "a reason of \(error.reason.utf8.count) bytes")
  try hold(
    error.reason.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
    "a control character in a reason: \(error.reason.debugDescription)")
  let names =
    switch error.code {
    case .notJSON, .duplicateKey: ["line ", "column ", "\"", "data"]
    case .missingField, .wrongType, .badIdentifier, .badText, .badTime, .badExpiry, .badRate,
      .badAudience, .unknownField, .badType:
      [
        "id", "app", "streamer", "stream", "data", "template", "occurred_at", "expires_in",
        "pushes_per_second", "audience", "type", "an event", "specversion", "source", "header",
        "time", "segment", "users",
      ]
    default: [""]
    }
  try hold(
    names.contains { error.reason.contains($0) }, "refused without saying where: \(error)")
}
