/// Ids, tokens and names are compared by their bytes. `String`'s own comparison takes canonically
/// equivalent texts for one: two users whose ids differ in it would be one user.
enum IdentifierRules {
  /// Who handles ids.
  private static let rooms: Set = [
    "Model", "Ingest", "Expand", "Deliver", "Record", "Pipeline", "Devices", "Tokens", "API",
    "Traces", "FanOuts", "Feedback", "Dashboard", "DeadLetters", "Watching",
  ]

  /// Where a text is a key all the same, and what it is. Each is ASCII by its own rule, or one of
  /// words that we chose.
  private static let allowed: [String: String] = [
    "Sources/Model/PushLimit.swift": "bundle ids of the configuration",
    "Sources/Model/Event.swift": "names of placeholders",
    "Sources/Stages/Record/Reading/Statistics.swift": "codes of errors",
    "Sources/Stages/Record/Reading/FanOutStatus.swift": "names of counters",
    "Sources/Stages/Ingest/OutcomeRecord.swift": "names of counters",
    "Sources/Stages/Record/Reading/BeatingWorkers.swift": "names of fields",
    "Sources/Stages/Record/Taps/TapRequest.swift": "names of fields",
    "Sources/Stages/Record/OpenSegments.swift": "names of segments, which are ours",
    "Sources/Stages/Record/Reading/TracedPush.swift": "kinds of records",
    "Sources/Stages/Expand/SelectionSource.swift": "keys of one list's shards",
    "Sources/Stages/Deliver/Credentials/AppCredentials.swift": "bundle ids of the configuration",
    "Sources/Stages/Deliver/DeliverStage.swift": "names of platforms",
    "Sources/Stages/Deliver/Routes/LaneRoutes.swift": "names of platforms",
    "Sources/Stages/Ingest/CloudEvent.swift": "names of attributes",
    "Sources/Stages/Ingest/EventDecoder.swift": "names of members and placeholders",
    "Sources/Stages/Ingest/SegmentRecord.swift": "names of members",
    "Sources/Pipeline/WorkerFigures.swift": "names of libraries and topics, and ids of events",
    "Sources/Pipeline/Records/DeadLetters.swift": "codes of errors, and receipts of ours",
    "Sources/Pipeline/Records/KafkaPump.swift": "names of topics, ids of events",
    "Sources/Pipeline/Records/RecordLosses.swift": "names of topics of the configuration",
    "Sources/Pipeline/Lanes/LimitLeases.swift": "bundle ids of the configuration",
    "Sources/Pipeline/Lanes/TemplateWaits.swift": "places of records",
    "Sources/Pipeline/PipelineOptions.swift": "names of libraries",
    "Sources/API/APIService.swift": "names of a pattern and of audit notes",
    "Sources/API/APIMetrics.swift": "patterns, statuses, names of libraries",
    "Sources/API/APIOptions.swift": "names of libraries",
    "Sources/API/APIServer.swift": "names of libraries",
    "Sources/API/Requests/APIResponse.swift": "names of headers and of audit notes",
    "Sources/API/Requests/APIRouter.swift": "names of a pattern",
    "Sources/API/Requests/APIRequest.swift": "names of a pattern, of members and arguments",
    "Sources/API/Requests/APIKeyRing.swift": "names of API keys, which are ASCII",
    "Sources/API/Requests/Problem.swift": "names of headers",
    "Sources/Dashboard/DashboardPage.swift": "endings of files, names of headers",
    "Sources/Dashboard/Reading/DashboardQuestions.swift": "fields of hashes, not looked up by ids",
    "Sources/Dashboard/Reading/FanOutDetails.swift": "segments of one event, which are ours",
    "Sources/Dashboard/Reading/HealthReader.swift": "names of fields, and a list of workers",
    "Sources/Dashboard/Views/FanOutView.swift": "names of counters",
    "Sources/Traces/TraceReader.swift": "names of a profile's fields",
    "Sources/FanOuts/FanOutReport.swift": "names of counters",
    "Sources/Pipeline/FanOuts/FanOutControlWatch.swift": "ids of events, which are ASCII",
    "Sources/Pipeline/Segments/SegmentRuns.swift": "ids of events, which are ASCII",
    "Sources/Stages/Record/Reading/RecentFanOuts.swift": "ids of events, which are ASCII",
    "Sources/Stages/Record/Scripts/HaltScripts.swift": "ids of events, which are ASCII",
  ]

  private static let keyed = ["[String:", "Set<String>", "Dictionary<String"]
  private static let identifiers = ["user", "streamer", "token", "member", "owner"]

  static func violations(in file: SourceFile) -> [Violation] {
    guard let room = file.room, rooms.contains(room) else { return [] }
    var broken: [Violation] = []
    for (index, line) in file.code.enumerated() {
      if allowed[file.path] == nil, keyed.contains(where: line.mentions) {
        broken.append(
          file.violation(
            index + 1,
            "a String is a key: ExactText where it is an id, a token or a name; else list the file")
        )
      }
      if compares(line) {
        broken.append(file.violation(index + 1, "ids are compared as Strings: isExactly"))
      }
    }
    return broken
  }

  private static func compares(_ line: String) -> Bool {
    guard line.mentions(" == ") || line.mentions(" != ") else { return false }
    return identifiers.contains { name in
      [" == ", " != "].contains { sign in
        line.ranges(of: ".\(name)\(sign)").contains { range in
          !line[range.upperBound...].hasPrefix("nil")
        }
          || line.ranges(of: "\(sign)\(name)").contains { range in
            let next = line[range.upperBound...].first
            return next == nil || next == " " || next == ")" || next == ","
          }
      }
    }
  }
}
