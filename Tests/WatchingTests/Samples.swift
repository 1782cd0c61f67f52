import Record

@testable import Watching

/// Noon of a day in 2026, in ms since 1970.
let noon: Int64 = 1_785_499_200_000
let second: UInt64 = 1_000_000_000

func known(_ event: String, _ fields: [String: String]) -> KnownFanOut {
  let all = ["state": "running", "streamer": "s1"].merging(fields) { $1 }
  return KnownFanOut(event: event, status: FanOutStatus(fields: all))
}

func row(
  _ event: String, _ fields: [String: String], rate: Double? = nil, limits: [String] = []
) -> FanOutRow {
  FanOutRow(known(event, fields), rate: rate, limits: limits, now: noon)
}

/// Two thirds of 1,200,000 pushes are done.
let halfway = [
  "streamer": "aiko", "segments": "600", "settled": "406", "pushes": "812400",
  "accepted": "800000", "expires_ms": "\(noon + 840_000)", "started_ms": "\(noon - 20_000)",
]

func worker(_ id: String, _ fields: [String: String] = [:]) -> WorkerRow {
  let usual = [
    "version": "0.1.0", "ready": "12", "lag": "1204", "streams": "900", "connections": "4",
    "rss_bytes": "183500800", "beat_ms": "\(noon - 3_000)", "clock_ahead_ms": "0",
  ]
  return WorkerRow(WorkerBeat(id: id, fields: usual.merging(fields) { $1 }))
}

/// One of everything.
let evening = TopSnapshot(
  asOf: noon - 1_000,
  fanOuts: FanOutRow.ordered(
    [
      row(
        "live-0",
        [
          "state": "done", "pushes": "4000", "rejected:Unregistered": "40",
          "done_ms": "\(noon - 600_000)",
        ]),
      row("live-8f2c", halfway, rate: 41_000),
      row(
        "live-9d01",
        [
          "brake": "paused", "brake_by": "ada", "brake_ms": "\(noon - 240_000)",
          "brake_why": "wrong title", "segments": "8", "settled": "2", "pushes": "1000",
          "expires_ms": "\(noon + 3_600_000)",
        ], rate: 0),
    ], now: noon),
  workers: [
    worker("worker-1"),
    worker(
      "worker-2",
      [
        "beat_ms": "\(noon - 40_000)", "waits_for": "Redis: no connection",
      ]),
  ],
  obstacles: [
    ObstacleRow(text: "production: cannot be reached", workers: 2, seenSince: noon - 80_000)
  ], window: 50)
