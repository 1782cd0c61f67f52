import Glibc

guard let arguments = WorldArguments(Array(CommandLine.arguments.dropFirst())) else {
  say(WorldArguments.usage)
  exit(2)
}
let isSound = try WorldLives(arguments).run()
exit(isSound ? 0 : 1)
