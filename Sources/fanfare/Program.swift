import AppleVerbs
import Assembly
import BackendVerbs
import DeviceVerbs
import InspectionVerbs
import LocalVerbs
import Pipeline
import Synchronization
import Telemetry
import Terminal
import VerbSupport

/// This release.
enum Fanfare {
  static let version = "0.1.0"
}

/// The command line, declared once: parsing, help, manual pages, suggestions and
/// completions come from here.
let fanfareProgram = Program(
  name: "fanfare",
  summary: "notify a streamer's followers, through Apple's push service, when the stream goes live",
  version: Fanfare.version,
  verbs: [
    // The order is that of the help: what runs in production, then what is done by hand, then what
    // shows and measures.
    WorkerVerb.verb,
    APIVerb.verb,
    APIKeyVerb.verb,
    DashboardVerb.verb,
    SimulatorVerb.verb,
    BrokerVerb.verb,
    TopicsVerb.verb,
    EmitVerb.verb,
    SendVerb.verb,
    ChannelVerb.verb,
    AudienceVerb.verb,
    DeviceVerb.verb,
    UserVerb.verb,
    FollowVerb.follow,
    FollowVerb.unfollow,
    TagVerb.verb,
    FeedbackVerb.verb,
    FanOutVerb.verb,
    DLQVerb.verb,
    TopVerb.verb,
    TapVerb.verb,
    RenderVerb.verb,
    TemplateVerb.verb,
    TraceVerb.verb,
    CheckVerb.verb,
    DoctorVerb.verb,
    ConfigVerb.verb,
    DevVerb.verb,
    DemoVerb.verb,
    BenchVerb.verb,
    VersionVerb.verb(version: Fanfare.version),
    .completions(program: "fanfare"),
    .manual(program: "fanfare"),
    GuardedVerb.verb,
    BenchSenderVerb.verb,
  ],
  examples: [
    .init(
      "fanfare check",
      "Check the configuration, the templates and the key, and test all connections"),
    .init(
      "fanfare emit --streamer s42 --app com.example.live --name Aiko --title 'Speedrun night'",
      "Write the event that notifies the followers of s42"),
    .init(
      "fanfare render go-live --locale ja --field name=Aiko",
      "Show the push that a follower would get"),
  ],
  epilogue: "README.md is the introduction. docs/ explains events, Redis keys and all settings.")
