import World

/// What the command line says.
struct WorldArguments {
  static let usage = """
    usage: world [--seeds COUNT] [--first SEED] [--jobs THREADS] [--twice] [--brief]
           world --seed SEED [--trace] [--without NUMBER,…]
           world --scenarios [--only NAME] [--trace]
           world --scenarios [--only NAME] --seeds COUNT …

      --seeds COUNT    lives this many seeds, from --first on (200)
      --first SEED     the first of them (1)
      --jobs THREADS   worlds that live side by side, each on a thread (1)
      --twice          lives each seed twice, and compares all that happened
      --brief          ends at the first violation, and looks for no smaller life that has it
      --seed SEED      lives one seed
      --trace          prints what happens in it
      --scenarios      prints what the named situations come to, and what bounds that; with
                       --seeds behind so many lives, and only bounds that are not kept
      --only NAME      of the situations this one alone, or all whose names begin so; with --seeds
                       in as many worlds, and no lives
      --storms         lives only what comes before the events, of each seed
      --without LIST   leaves out these deeds of it, by the numbers that the trace gives them

    Exit code 0: every promise was kept. 1: one was not, and the output names the seed. 2: wrong
    arguments.
    """

  var lives = Lives.Options()
  var only: UInt64?
  var traces = false
  var showsScenarios = false
  var wantsLives = false
  /// What the names of the situations begin with.
  var scenarios = ""
  var without: Set<Int> = []

  /// Nil: something is wrong with them.
  init?(_ arguments: [String]) {
    var rest = arguments[...]
    while let name = rest.popFirst() {
      switch name {
      case "--twice": lives.livesTwice = true
      case "--brief": lives.isBrief = true
      case "--trace": traces = true
      case "--scenarios": showsScenarios = true
      case "--storms": lives.areStormsOnly = true
      default:
        guard let value = rest.popFirst(), take(name, value) else { return nil }
      }
    }
    guard lives.seeds > 0, lives.threads > 0, only != nil || without.isEmpty,
      only != nil || showsScenarios || !traces
    else { return nil }
  }

  private mutating func take(_ name: String, _ value: String) -> Bool {
    switch name {
    case "--seed":
      only = UInt64(value)
      return only != nil
    case "--seeds":
      wantsLives = true
      lives.seeds = Int(value) ?? 0
      return true
    case "--jobs":
      lives.threads = Int(value) ?? 0
      return true
    case "--first":
      guard let number = UInt64(value) else { return false }
      lives.first = number
      return true
    case "--only":
      scenarios = value
      return true
    case "--without":
      let numbers = value.split(separator: ",").map { Int($0) }
      without = Set(numbers.compactMap { $0 })
      return !numbers.contains(nil)
    default: return false
    }
  }
}
