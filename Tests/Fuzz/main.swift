import FuzzTargets
import Glibc

// `Fuzz TARGET FILE…` runs a target on files, once each. Built with FUZZING and Swift's fuzzer
// sanitizer (Tests/Fuzz/run), it is libFuzzer: `Fuzz TARGET -max_total_time=60 CORPUS…`.

guard CommandLine.arguments.count > 1 else {
  print(FuzzTarget.all.map { "\($0.name) \($0.maximumBytes)" }.joined(separator: "\n"))
  exit(0)
}
// To merge corpora libFuzzer starts this program again, with its own arguments alone.
let known = "FUZZ_TARGET"
let isOwn = CommandLine.arguments[1].hasPrefix("-")
let name = isOwn ? getenv(known).map { String(cString: $0) } ?? "" : CommandLine.arguments[1]
guard let target = FuzzTarget.named(name) else {
  print("no target is called \(name)")
  exit(2)
}
setenv(known, name, 1)
exit(run(target, Array(CommandLine.arguments.dropFirst(isOwn ? 1 : 2))))
